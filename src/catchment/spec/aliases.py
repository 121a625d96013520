"""Rewrites every spelling of the dialect to one canonical form, here and nowhere else. Positions are kept.

Plain aliases are accepted silently. A key in the wrong place is moved with a warning if its meaning is clear. Giving
the same thing twice is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from catchment.spec.findings import Findings
from catchment.spec.legacy_forms import sinks_to_outputs, unfold
from catchment.spec.tree import Entry, ListNode, MapNode, ScalarNode, text

SPEC = {"flare": "stackSpec", "toolbox": "stackSpec", "compaction": "stackSpec", "resource": "resources"}
STACK_SPEC = {"sparkConfig": "sparkConf"}
INPUT = {"type": "format", "inputType": "format", "outputType": "format", "depot": "dataset", "schema": "schemaString"}
OUTPUT = {"type": "format", "outputType": "format", "depot": "dataset", "outputOptions": "options"}
OUTPUT_OPTIONS = {"delta": "iceberg"}
"""Options of table outputs are the same for every table format."""
STREAMING = {"foreachBatchMode": "forEachBatchMode"}
PARTITION = {"asColumn": "name"}
ACTION_OPTIONS = {"expireOlderThan": "olderThanMillis", "olderThan": "olderThanMillis"}

OF_OUTPUT = ("tags", "title", "description")
"""Keys of an output that workflows also write in its `options` and in `options.iceberg`."""
OF_ICEBERG = ("partitionSpec", "merge", "properties")
"""Keys of `options.iceberg` that workflows also write in `options`."""
NEVER_APPLIED = ("partitionSpec",)
"""Keys of `OF_ICEBERG` that workflows write in both places; the dialect applies the one in `options.iceberg`."""
OF_EVERY_TABLE = ("merge",)
"""Keys of `OF_ICEBERG` that are valid in `options` too, so moving them gives no warning."""


def normalise_node(node: MapNode, findings: Findings) -> MapNode:
    """A DAG node with canonical keys, down to the keys of `stackSpec`."""
    node = node.edited("spec", lambda spec: _spec(spec, findings))
    node = _retry_beside_spec(node, findings)
    return _listed(node, "dependencies")


def normalise_job(node: MapNode, findings: Findings) -> MapNode:
    """A DAG node whose flare job has canonical inputs, steps and outputs. Step files must be in place."""
    return node.edited("spec", lambda spec: spec.edited("stackSpec", lambda stack: _stack_spec(stack, findings)))


def _spec(spec: MapNode, findings: Findings) -> MapNode:
    spec = _renamed(spec, SPEC, findings)
    return spec.edited("stackSpec", lambda stack: _renamed(stack, STACK_SPEC, findings))


def _stack_spec(stack: MapNode, findings: Findings) -> MapNode:
    job = stack.get("job")
    if isinstance(job, MapNode):
        job = _renamed(job, STACK_SPEC, findings)
        if "sparkConf" in job.entries:
            stack, job = _moved(job, "sparkConf", stack, "stackSpec", findings)
        stack = stack.having("job", Entry(stack.key_where("job"), _job(job, findings)))
    return _settings_as_map(stack, findings)


def _job(job: MapNode, findings: Findings) -> MapNode:
    job = sinks_to_outputs(job, findings)
    job = job.edited_items("inputs", lambda item: _input(item, findings))
    job = job.edited_items("outputs", lambda item: _output(item, findings))
    job = job.edited("streaming", lambda streaming: _renamed(streaming, STREAMING, findings))
    job = _rewrite_as_action(job, findings)
    return job.edited_items(
        "actions", lambda item: item.edited("options", lambda options: _renamed(options, ACTION_OPTIONS, findings))
    )


def _rewrite_as_action(job: MapNode, findings: Findings) -> MapNode:
    """Turn the oldest form of a compaction, `rewriteDataset: {mode: full}`, into an action that rewrites every file."""
    entry = job.entries.get("rewriteDataset")
    if entry is None or not isinstance(entry.node, MapNode):
        return job
    mode = entry.node.get("mode")
    if mode is None or text(mode) != "full":
        where = mode.where if mode is not None else entry.where
        hint = "write `mode: full`, or an action `rewrite_dataset` with `options`"
        findings.error("bad-value", "`rewriteDataset` supports only the mode `full`", where, hint)
    rewrite_all = MapNode(entry.where, {"rewrite-all": Entry(entry.where, ScalarNode("true", "true", entry.where))})
    options = MapNode(entry.where, {"properties": Entry(entry.where, rewrite_all)})
    name = ScalarNode("rewrite_dataset", "rewrite_dataset", entry.where)
    action = MapNode(entry.where, {"name": Entry(entry.where, name), "options": Entry(entry.where, options)})
    given = job.get("actions")
    others = given.items if isinstance(given, ListNode) else ()
    actions = Entry(job.key_where("actions"), ListNode(entry.where, (*others, action)))
    return job.without("rewriteDataset").having("actions", actions)


def _input(node: MapNode, findings: Findings) -> MapNode:
    legacy = "schema" in node.entries
    node = unfold(node, "inputType", findings)
    node = _renamed(node, INPUT, findings)
    if legacy and "schemaType" not in node.entries:
        where = node.key_where("schemaString")
        node = node.having("schemaType", Entry(where, ScalarNode("spark", "spark", where)))
    return node.edited("incremental", lambda window: _incremental(window, findings))


def _incremental(window: MapNode, findings: Findings) -> MapNode:
    """In the oldest form, keys have a plain `default`, and `updateFromKey` instead of `state`."""
    keys = window.get("keys")
    if not isinstance(keys, ListNode):
        return window
    moved = [_state_of(key) for key in keys.items if isinstance(key, MapNode) and "updateFromKey" in key.entries]
    if moved and "state" not in window.entries:
        where = window.key_where("keys")
        window = window.having("state", Entry(where, ListNode(where, tuple(moved))))
    return window.edited_items("keys", _incremental_key)


def _incremental_key(key: MapNode) -> MapNode:
    default = key.get("default")
    if isinstance(default, ScalarNode) and "sql" not in key.entries:
        literal = default.text.replace("\\", "\\\\").replace("'", "\\'")
        sql = f"select '{literal}'"
        key = key.having("sql", Entry(key.key_where("default"), ScalarNode(sql, sql, default.where)))
    return key.without("default", "updateFromKey")


def _state_of(key: MapNode) -> MapNode:
    entries = {"key": key.entries.get("name"), "value": key.entries["updateFromKey"]}
    return MapNode(key.key_where("updateFromKey"), {name: entry for name, entry in entries.items() if entry})


def _output(node: MapNode, findings: Findings) -> MapNode:
    node = _renamed(unfold(node, "outputType", findings), OUTPUT, findings)
    options = node.get("options")
    if not isinstance(options, MapNode):
        return node
    options, node = _file_options(_renamed(options, OUTPUT_OPTIONS, findings), node, findings)
    iceberg = options.get("iceberg")
    for key in OF_OUTPUT:
        node, options = _moved(options, key, node, "the output", findings)
        if isinstance(iceberg, MapNode):
            node, iceberg = _moved(iceberg, key, node, "the output", findings)
            options = options.having("iceberg", Entry(options.key_where("iceberg"), iceberg))
    options = _into_iceberg(options, findings)
    options = options.edited(
        "iceberg", lambda it: it.edited_items("partitionSpec", lambda part: _renamed(part, PARTITION, findings))
    )
    return node.having("options", Entry(node.key_where("options"), options))


def _file_options(options: MapNode, output: MapNode, findings: Findings) -> tuple[MapNode, MapNode]:
    """In old workflows, `options.file` holds the saveMode and the format of a file output."""
    file = options.get("file")
    if not isinstance(file, MapNode):
        return options, output
    file = _renamed(file, OUTPUT, findings)
    output, file = _moved(file, "format", output, "the output", findings)
    options, file = _moved(file, "saveMode", options, "options", findings)
    for key, entry in file.entries.items():
        findings.error("unknown-key", f"unknown key `{key}`", entry.where, "known keys are saveMode, outputType")
    return options.without("file"), output


def _into_iceberg(options: MapNode, findings: Findings) -> MapNode:
    misplaced = [key for key in OF_ICEBERG if key in options.entries]
    if not misplaced:
        return options
    where = options.key_where(misplaced[0])
    found = options.get("iceberg")
    iceberg = found if isinstance(found, MapNode) else MapNode(where)
    for key in misplaced:
        silent = key in OF_EVERY_TABLE
        iceberg, options = _moved(options, key, iceberg, "options.iceberg", findings, silent=silent)
    return options.having("iceberg", Entry(options.entries.get("iceberg", Entry(where, iceberg)).where, iceberg))


def _moved(
    source: MapNode, key: str, target: MapNode, place: str, findings: Findings, *, silent: bool = False
) -> tuple[MapNode, MapNode]:
    """Move a key to the mapping it belongs to; returns the changed target and the changed source."""
    entry = source.entries.get(key)
    if entry is None:
        return target, source
    if key in target.entries:
        message = f"`{key}` is given here and in {place}, on line {target.key_where(key).line}"
        hint = f"keep the one in {place}"
        if key in NEVER_APPLIED:
            findings.warning("given-twice", f"{message}; the one given here is not applied", entry.where, hint)
        else:
            findings.error("given-twice", message, entry.where, hint)
    else:
        if not silent:
            findings.warning("misplaced-key", f"`{key}` belongs to {place}; the value given here is used", entry.where)
        target = target.having(key, entry)
    return target, source.without(key)


def _renamed(node: MapNode, aliases: Mapping[str, str], findings: Findings) -> MapNode:
    for alias, canonical in aliases.items():
        if alias not in node.entries:
            continue
        if canonical in node.entries:
            message = f"`{alias}` and `{canonical}` mean the same"
            findings.error("given-twice", message, node.key_where(alias), f"keep `{canonical}`")
            node = node.without(alias)
        else:
            node = node.renamed(alias, canonical)
    return node


def _retry_beside_spec(node: MapNode, findings: Findings) -> MapNode:
    spec = node.get("spec")
    if not isinstance(spec, MapNode) or "retry" not in spec.entries:
        return node
    entry = spec.entries["retry"]
    if "retry" in node.entries:
        message = f"`retry` is given here and beside `spec`, on line {node.key_where('retry').line}"
        findings.error("given-twice", message, entry.where, "keep one of them")
    else:
        node = node.having("retry", entry)
    return node.having("spec", Entry(node.key_where("spec"), spec.without("retry")))


def _listed(node: MapNode, key: str) -> MapNode:
    entry = node.entries.get(key)
    if entry is None or text(entry.node) is None:
        return node
    return node.having(key, Entry(entry.where, ListNode(entry.node.where, (entry.node,))))


def _settings_as_map(stack: MapNode, findings: Findings) -> MapNode:
    """`stackSpec` with `sparkConf` as one mapping, whether it was a mapping or a list of them."""
    entry = stack.entries.get("sparkConf")
    if entry is None or not isinstance(entry.node, ListNode):
        return stack
    settings: dict[str, Entry] = {}
    for item in entry.node.items:
        if not isinstance(item, MapNode):
            findings.error("wrong-type", "an item of `sparkConf` wants a mapping", item.where, "write `- key: value`")
            continue
        for key, setting in item.entries.items():
            if key in settings:
                first = settings[key].where.line
                message = f"`{key}` is given twice; the value given here is used, not the one on line {first}"
                findings.warning("duplicate-key", message, setting.where, "keep one of them")
            settings[key] = setting
    return stack.having("sparkConf", Entry(entry.where, MapNode(entry.node.where, settings)))
