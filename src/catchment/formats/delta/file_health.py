"""How well the files of a Delta table serve its readers, from totals of its log. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from catchment.formats.delta.commits import Commit
from catchment.plan.model import Dataset
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

TARGET, TARGET_DEFAULT = "delta.targetFileSize", 128 * 1024 * 1024
COMPACTIONS = frozenset({"OPTIMIZE", "REORG"})
MOST_COMMITS = 20
"""How many commits are searched for a compaction by others; each one is a file of the log."""


def size_limits(properties: Mapping[str, str], small_file_bytes: int | None) -> tuple[int, int]:
    """The size that the table's files aim at, and the size below which a file counts as small."""
    given = properties.get(TARGET, "")
    target = (int(given) if given.isdecimal() else 0) or TARGET_DEFAULT
    return target, small_limit(target, small_file_bytes)


def health_of(
    dataset: Dataset,
    version: int,
    limits: tuple[int, int],
    found: Iterable[PartitionHealth],
    newest: Iterable[Commit],
    recorded: float | None,
) -> TableHealth:
    """The health of a table from its commits, newest first; `recorded` is the last compaction in the ledger."""
    return table_health(
        dataset.address,
        snapshot_name(version),
        limits,
        found,
        snapshots=version + 1,
        last_compaction=max(recorded or 0.0, _last_compaction(newest) or 0.0) or None,
    )


def _last_compaction(newest: Iterable[Commit]) -> float | None:
    of_others = (each for each in islice(newest, MOST_COMMITS) if each.info.get("operation") in COMPACTIONS)
    return next((int(each.info["timestamp"]) / 1000 for each in of_others), None)
