"""Actions and toolbox jobs: from the grammar to the canonical model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TypeVar, get_args

from catchment.formats.registry import all_traits
from catchment.spec.findings import Findings
from catchment.spec.grammar import table_actions as grammar
from catchment.spec.grammar.fields import Part
from catchment.spec.grammar.table_actions import CompactionSpec, ToolboxAction, ToolboxSpec
from catchment.spec.model import (
    NULL_PARTITION,
    Action,
    ChangeName,
    Delete,
    Expire,
    Input,
    Job,
    Operation,
    Partition,
    RemoveOrphans,
    Rewrite,
    RewriteManifests,
    Toolbox,
    Transform,
)
from catchment.spec.reading.merges import read_clause
from catchment.spec.tree import MapNode, Node, follow, items
from catchment.spec.validation import did_you_mean, parse

Options = TypeVar("Options", bound=Part)

REWRITE_PROPERTIES = frozenset().union(*(traits.rewrite_options for traits in all_traits()))
"""The options that the rewrite of at least one format knows."""
FIRST_PLAUSIBLE = datetime(2000, 1, 1, tzinfo=timezone.utc)
_ORDER = re.compile(r"\s*zorder\s*\(.+\)\s*|[^()]+", re.IGNORECASE | re.DOTALL)


def read_rewrite(node: MapNode, findings: Findings) -> Rewrite | None:
    """The operation of a `rewrite_dataset` action."""
    given = _parsed(grammar.RewriteOptions, node, findings)
    return rewrite_of(given, follow(node, ["options"]).node, findings) if given else None


def rewrite_of(given: grammar.RewriteOptions, node: Node, findings: Findings) -> Rewrite:
    """The rewrite that the options describe; `node` is the mapping that holds them."""
    properties = dict(given.properties or {})
    for key in properties:
        if key not in REWRITE_PROPERTIES:
            where = follow(node, ["properties", key]).key_where
            hint = did_you_mean(key, REWRITE_PROPERTIES) or "they are the options of the format's own rewrite"
            findings.error("unknown-key", f"a rewrite has no property `{key}`", where, hint)
    if given.sort_order is not None:
        _check_order(given.sort_order, given.strategy, node, findings)
    where_node = follow(node, ["where"]).node
    condition = read_clause(given.where, where_node, "WHERE") if given.where else None
    partitions = tuple(
        Partition(_values(each), follow(node, ["partitions", index]).node.where)
        for index, each in enumerate(given.partitions or ())
    )
    return Rewrite(given.strategy, given.sort_order, condition, properties, partitions)


def _values(given: Mapping[str, str]) -> dict[str, str | None]:
    return {name: None if value == NULL_PARTITION else value for name, value in given.items()}


def read_manifests(node: MapNode, findings: Findings) -> RewriteManifests | None:
    """The operation of a `rewrite_manifest` action."""
    given = _parsed(grammar.ManifestOptions, node, findings)
    return RewriteManifests(given.use_caching) if given else None


def read_expiry(node: MapNode, findings: Findings) -> Expire | None:
    """The operation of an `expire_snapshots` action."""
    given = _parsed(grammar.ExpireOptions, node, findings)
    if given is None:
        return None
    _check_one_of(("olderThanMillis", "olderThanTimestamp", "snapshotIds"), node, findings)
    return Expire(
        _moment(given, node, findings),
        tuple(map(str, given.snapshot_ids or ())),
        given.retain_last,
        given.max_concurrent_deletes,
        given.stream_delete_results,
    )


def read_orphans(node: MapNode, findings: Findings) -> RemoveOrphans | None:
    """The operation of a `remove_orphans` action."""
    given = _parsed(grammar.OrphanOptions, node, findings)
    if given is None:
        return None
    _check_one_of(("olderThanMillis", "olderThanTimestamp"), node, findings)
    before = _moment(given, node, findings)
    return RemoveOrphans(before, given.location, given.dry_run, given.max_concurrent_deletes)


READERS: Mapping[str, Callable[[MapNode, Findings], Operation | None]] = {
    "rewrite_dataset": read_rewrite,
    "rewrite_manifest": read_manifests,
    "expire_snapshots": read_expiry,
    "remove_orphans": read_orphans,
}
"""Which function reads each action."""


def _parsed(model: type[Options], node: MapNode, findings: Findings) -> Options | None:
    options = node.get("options")
    given, found = parse(model, options if isinstance(options, MapNode) else MapNode(node.where))
    findings.extend(found)
    return given


def _check_order(order: str, strategy: str, node: Node, findings: Findings) -> None:
    where = follow(node, ["sortOrder"])
    if strategy != "sort":
        hint = "add `strategy: sort`, or remove `sortOrder`"
        findings.error("options-conflict", "`sortOrder` needs the strategy `sort`", where.key_where, hint)
    elif not _ORDER.fullmatch(order):
        hint = "write `col ASC NULLS LAST, other DESC` or `zorder(a, b)`"
        findings.error("bad-sort-order", f"`{order}` is not a sort order", where.node.where, hint)


def _check_one_of(keys: tuple[str, ...], node: MapNode, findings: Findings) -> None:
    options = node.get("options")
    given = [key for key in options.entries if key in keys] if isinstance(options, MapNode) else []
    if len(given) > 1:
        message = f"`{given[0]}` and `{given[1]}` exclude each other"
        where = follow(node, ["options", given[1]]).key_where
        findings.error("options-conflict", message, where, f"keep one of {', '.join(keys)}")


def _moment(given: grammar.ExpireOptions | grammar.OrphanOptions, node: MapNode, findings: Findings) -> int | None:
    millis = given.older_than_millis
    if millis is not None and millis < FIRST_PLAUSIBLE.timestamp() * 1000:
        moment = datetime.fromtimestamp(millis / 1000, tz=timezone.utc)
        where = follow(node, ["options", "olderThanMillis"]).node.where
        hint = "it is a point in time, not an age: write milliseconds since 1970, or use `olderThanTimestamp`"
        findings.warning("ancient-moment", f"`olderThanMillis` is {moment:%Y-%m-%d}: nothing is older", where, hint)
    return given.older_than_timestamp if millis is None else millis


DELETE = "delete_from_dataset"
KNOWN = (DELETE, *READERS)


def read_actions(job: MapNode, inputs: Sequence[str], taken: Sequence[str], findings: Findings) -> tuple[Action, ...]:
    """Every action of a job that can be read; `inputs` are the names of its inputs, `taken` those of its outputs."""
    found = (_action(item, inputs, findings) for item in items(job.get("actions")))
    unique: dict[str, Action] = {}
    for action in (one for one in found if one):
        name, number = action.name, 2
        while name in unique or name in taken:
            name, number = f"{action.name}-{number}", number + 1
        unique[name] = replace(action, name=name)
    return tuple(unique.values())


def _action(node: Node, inputs: Sequence[str], findings: Findings) -> Action | None:
    given, found = parse(grammar.Action, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode) or not _is_known(given.name, node, findings):
        return None
    source = _input(given, node, inputs, findings)
    operation = _delete(given, node, findings) if given.name == DELETE else _other(given, node, findings)
    return Action(given.name, source, node.where, operation) if source is not None and operation is not None else None


def _delete(given: grammar.Action, node: MapNode, findings: Findings) -> Operation | None:
    if given.options:
        findings.warning("ignored-key", f"`{given.name}` takes no `options`", node.key_where("options"))
    if given.delete_where is None:
        hint = "add `deleteWhere:` beside `input`"
        findings.error("missing-field", f"`deleteWhere` is missing in {given.name}", node.where, hint)
        return None
    return Delete(read_clause(given.delete_where, follow(node, ["deleteWhere"]).node, "WHERE"))


def _other(given: grammar.Action, node: MapNode, findings: Findings) -> Operation | None:
    if given.delete_where is not None:
        where = node.key_where("deleteWhere")
        findings.error("unknown-key", f"`{given.name}` takes no `deleteWhere`", where, f"it belongs to {DELETE}")
    return READERS[given.name](node, findings)


def _is_known(name: str, node: MapNode, findings: Findings) -> bool:
    if name in KNOWN:
        return True
    hint = did_you_mean(name, KNOWN) or f"actions are {', '.join(KNOWN)}"
    findings.error("unknown-action", f"there is no action `{name}`", follow(node, ["name"]).node.where, hint)
    return False


def _input(given: grammar.Action, node: MapNode, inputs: Sequence[str], findings: Findings) -> str | None:
    """The input whose table is changed; the only input if the action names none."""
    listed = ", ".join(inputs) or "the inputs"
    if given.input is None:
        if len(inputs) == 1:
            return inputs[0]
        hint = f"add `input:` with one of {listed}"
        findings.error("missing-field", f"`input` is missing in {given.name}", node.where, hint)
        return None
    wanted = given.input.lower()
    found = next((name for name in inputs if name.lower() == wanted), None)
    if found is None:
        hint = did_you_mean(given.input, inputs) or f"name one of {listed}"
        where = follow(node, ["input"]).node.where
        findings.error("unknown-action-input", f"the job has no input `{given.input}`", where, hint)
    return found


_ARGUMENT_OF = {"numBuckets": "bucket", "width": "truncate"}
"""The numeric arguments of partition transforms, and the transform that takes each."""
_OF_A_FIELD = ("asColumn", *_ARGUMENT_OF)
NEEDS: Mapping[ChangeName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "set_version": (("value",), ()),
    "rollback": ((), ("snapshot", "timestamp")),
    "set_snapshot": (("snapshot",), ()),
    "tag_create": (("tag",), ("snapshot",)),
    "tag_delete": (("tag",), ()),
    "branch_create": (("branch",), ("snapshot",)),
    "branch_delete": (("branch",), ()),
    "branch_fast_forward": (("branch",), ("to",)),
    "properties_set": (("properties",), ()),
    "properties_unset": (("names",), ()),
    "column_add": (("column", "type"), ("comment",)),
    "column_drop": (("column",), ()),
    "column_rename": (("column", "to"), ()),
    "column_widen": (("column", "type"), ()),
    "partition_add": (("type", "column"), _OF_A_FIELD),
    "partition_drop": (("field",), ()),
    "partition_replace": (("field", "type", "column"), _OF_A_FIELD),
}
"""The required and the optional arguments of each change."""


def read_compaction(job: Job | None, spec_node: MapNode, findings: Findings) -> Job | None:
    """The job with its rewrite of one dataset; None if too little of it can be read."""
    stack = spec_node.entries["stackSpec"].node
    given, found = parse(CompactionSpec, stack, spec_node.key_where("stackSpec"))
    findings.extend(found)
    if job is None or given is None or not isinstance(stack, MapNode):
        return None
    place = follow(stack, ["dataset"]).node.where
    table = Input(COMPACTED, given.dataset, stack.where, place, given.format.lower() if given.format else None)
    rewrite = Action("rewrite_dataset", COMPACTED, stack.where, rewrite_of(given, stack, findings))
    return replace(job, names=frozenset({COMPACTED}), inputs=(table,), actions=(rewrite,))


COMPACTED = "compacted"
"""The name of the input of a compaction job."""


def read_toolbox(job: Job | None, spec_node: MapNode, findings: Findings) -> Job | None:
    """The job with its change; None if too little of it can be read."""
    stack = spec_node.entries["stackSpec"].node
    given, found = parse(ToolboxSpec, stack, spec_node.key_where("stackSpec"))
    findings.extend(found)
    node = follow(stack, ["action"]).node
    if job is None or given is None or not isinstance(node, MapNode):
        return None
    _check(given.action, node, findings)
    arguments = given.action.model_dump(by_alias=True, exclude={"name"}, exclude_none=True)
    where = follow(node, ["value"]).node.where if "value" in node.entries else node.where
    dataset_where = follow(stack, ["dataset"]).node.where
    return replace(job, toolbox=Toolbox(given.dataset, given.action.name, arguments, where, dataset_where))


def _check(action: ToolboxAction, node: MapNode, findings: Findings) -> None:
    needed, possible = NEEDS[action.name]
    for key in needed:
        if key not in node.entries:
            message = f"`{key}` is missing in {action.name}"
            findings.error("missing-field", message, node.where, f"add `{key}:` to the action")
    if action.name == "rollback" and (action.snapshot is None) == (action.timestamp is None):
        hint = "add `snapshot:` or `timestamp:`, one of the two"
        findings.error("missing-field", "rollback needs a target", node.where, hint)
    if action.name in ("partition_add", "partition_replace") and action.type not in (None, *get_args(Transform)):
        hint = did_you_mean(str(action.type), get_args(Transform)) or f"use one of {', '.join(get_args(Transform))}"
        where = follow(node, ["type"]).node.where
        findings.error("bad-transform", f"there is no transform `{action.type}`", where, hint)
    for key in (key for key in _ARGUMENT_OF if key in possible and action.type == _ARGUMENT_OF[key]):
        if key not in node.entries:
            message = f"the transform `{action.type}` needs `{key}`"
            findings.error("missing-field", message, follow(node, ["type"]).node.where, f"add `{key}:` to the action")
    for key in node.entries:
        if key in _ARGUMENT_OF and key in possible and action.type != _ARGUMENT_OF[key]:
            message = f"the transform `{action.type}` takes no `{key}`"
            findings.error("unknown-key", message, node.key_where(key), f"it belongs to `{_ARGUMENT_OF[key]}`")
        elif key not in ("name", *needed, *possible):
            hint = f"it takes {', '.join((*needed, *possible))}"
            findings.error("unknown-key", f"`{action.name}` takes no `{key}`", node.key_where(key), hint)
