"""What an action does: its options, from the grammar to the canonical model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TypeVar

from catchment.spec.clauses import read_clause
from catchment.spec.findings import Findings
from catchment.spec.grammar import action as grammar
from catchment.spec.grammar.base import Part
from catchment.spec.model import Deed, Expire, RemoveOrphans, Rewrite, RewriteManifests
from catchment.spec.tree import MapNode, follow
from catchment.spec.validation import did_you_mean, parse

Options = TypeVar("Options", bound=Part)

REWRITE_PROPERTIES = frozenset(
    {
        *("target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes", "min-input-files", "rewrite-all"),
        *("max-file-group-size-bytes", "max-concurrent-file-group-rewrites", "max-files-to-rewrite"),
        *("partial-progress.enabled", "partial-progress.max-commits", "partial-progress.max-failed-commits"),
        *("delete-file-threshold", "delete-ratio-threshold", "remove-dangling-deletes", "use-starting-sequence-number"),
        *("rewrite-job-order", "output-spec-id", "compression-factor", "shuffle-partitions-per-file"),
        *("max-output-size", "var-length-contribution"),
    }
)
"""The options that Iceberg's rewrite knows."""
FIRST_PLAUSIBLE = datetime(2000, 1, 1, tzinfo=timezone.utc)
_ORDER = re.compile(r"\s*zorder\s*\(.+\)\s*|[^()]+", re.IGNORECASE | re.DOTALL)


def read_rewrite(node: MapNode, findings: Findings) -> Rewrite | None:
    """Of `rewrite_dataset`."""
    given = _parsed(grammar.RewriteOptions, node, findings)
    if given is None:
        return None
    properties = dict(given.properties or {})
    for key in properties:
        if key not in REWRITE_PROPERTIES:
            where = follow(node, ["options", "properties", key]).key_where
            hint = did_you_mean(key, REWRITE_PROPERTIES) or "they are the options of Iceberg's rewrite_data_files"
            findings.error("unknown-key", f"a rewrite has no property `{key}`", where, hint)
    if given.sort_order is not None:
        _check_order(given.sort_order, given.strategy, node, findings)
    where_node = follow(node, ["options", "where"]).node
    condition = read_clause(given.where, where_node, "WHERE") if given.where else None
    return Rewrite(given.strategy, given.sort_order, condition, properties)


def read_manifests(node: MapNode, findings: Findings) -> RewriteManifests | None:
    """Of `rewrite_manifest`."""
    given = _parsed(grammar.ManifestOptions, node, findings)
    return RewriteManifests(given.use_caching) if given else None


def read_expiry(node: MapNode, findings: Findings) -> Expire | None:
    """Of `expire_snapshots`."""
    given = _parsed(grammar.ExpireOptions, node, findings)
    if given is None:
        return None
    _check_one_of(("olderThanMillis", "olderThanTimestamp", "snapshotIds"), node, findings)
    return Expire(
        _moment(given, node, findings),
        tuple(given.snapshot_ids or ()),
        given.retain_last,
        given.max_concurrent_deletes,
        given.stream_delete_results,
    )


def read_orphans(node: MapNode, findings: Findings) -> RemoveOrphans | None:
    """Of `remove_orphans`."""
    given = _parsed(grammar.OrphanOptions, node, findings)
    if given is None:
        return None
    _check_one_of(("olderThanMillis", "olderThanTimestamp"), node, findings)
    before = _moment(given, node, findings)
    return RemoveOrphans(before, given.location, given.dry_run, given.max_concurrent_deletes)


READERS: Mapping[str, Callable[[MapNode, Findings], Deed | None]] = {
    "rewrite_dataset": read_rewrite,
    "rewrite_manifest": read_manifests,
    "expire_snapshots": read_expiry,
    "remove_orphans": read_orphans,
}
"""By the name of the action."""


def _parsed(model: type[Options], node: MapNode, findings: Findings) -> Options | None:
    options = node.get("options")
    given, found = parse(model, options if isinstance(options, MapNode) else MapNode(node.where))
    findings.extend(found)
    return given


def _check_order(order: str, strategy: str, node: MapNode, findings: Findings) -> None:
    where = follow(node, ["options", "sortOrder"])
    if strategy != "sort":
        hint = "add `strategy: sort`, or remove `sortOrder`"
        findings.error("options-conflict", "`sortOrder` needs the strategy `sort`", where.key_where, hint)
    elif not _ORDER.fullmatch(order):
        hint = "write `col ASC NULLS LAST, other DESC` or `zorder(a, b)`"
        findings.error("bad-sort-order", f"`{order}` is no order of rows", where.node.where, hint)


def _check_one_of(keys: tuple[str, ...], node: MapNode, findings: Findings) -> None:
    options = node.get("options")
    given = [key for key in options.entries if key in keys] if isinstance(options, MapNode) else []
    if len(given) > 1:
        message = f"`{given[0]}` and `{given[1]}` say differently what is meant"
        where = follow(node, ["options", given[1]]).key_where
        findings.error("options-conflict", message, where, f"keep one of {', '.join(keys)}")


def _moment(given: grammar.ExpireOptions | grammar.OrphanOptions, node: MapNode, findings: Findings) -> int | None:
    millis = given.older_than_millis
    if millis is not None and millis < FIRST_PLAUSIBLE.timestamp() * 1000:
        moment = datetime.fromtimestamp(millis / 1000, tz=timezone.utc)
        where = follow(node, ["options", "olderThanMillis"]).node.where
        hint = "it is no age: write the milliseconds since 1970, or use `olderThanTimestamp`"
        findings.warning("ancient-moment", f"`olderThanMillis` means {moment:%Y-%m-%d}: nothing is older", where, hint)
    return given.older_than_timestamp if millis is None else millis
