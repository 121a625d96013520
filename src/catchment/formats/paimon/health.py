"""How well the files of a Paimon table serve its readers."""

from __future__ import annotations

from collections.abc import Sequence

from catchment.formats.paimon.inspection import DataFile, data_files
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.formats.paimon.snapshots import read_back
from catchment.formats.paimon.table import Table
from catchment.plan.model import Dataset
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

MIB = 1024 * 1024
UNITS = {"b": 1, "kb": 1024, "mb": MIB, "gb": 1024 * MIB}
TARGET = "target-file-size"
KEYED_TARGET, TARGET_DEFAULT = 128 * MIB, 256 * MIB


def health_of(table: Table, dataset: Dataset, small_file_bytes: int | None) -> TableHealth:
    """The files by partition; in a table with a key, those of level 0 are what its readers have to merge."""
    target = target_size(table)
    limit = small_limit(target, small_file_bytes)
    found: dict[tuple[str | None, ...], list[DataFile]] = {}
    for file in data_files(table):
        found.setdefault(tuple(file.partition.values()), []).append(file)
    parts = [_health(files, limit, keyed=bool(table.keys)) for files in found.values()]
    newest = table.newest()
    known = read_back(table.spark, table.java, newest.id) if newest else []
    return table_health(
        dataset.address,
        snapshot_name(newest.id) if newest else None,
        (target, limit),
        parts,
        snapshots=len(known),
        write_only=table.write_only,
        last_compaction=_last_compaction(known),
    )


def target_size(table: Table) -> int:
    """The file size that the table aims at."""
    given = table.options.get(TARGET, "").lower().replace(" ", "")
    digits = given.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = UNITS.get(given[len(digits) :] or "b")
    if digits.isdecimal() and unit:
        return int(digits) * unit
    return KEYED_TARGET if table.keys else TARGET_DEFAULT


def _health(files: Sequence[DataFile], limit: int, *, keyed: bool) -> PartitionHealth:
    # With a key, files above level 0 are as small as their bucket is: a compaction makes them no larger.
    small = [] if keyed else [file.bytes for file in files if file.bytes < limit]
    return PartitionHealth(
        files[0].partition,
        len(files),
        sum(file.bytes for file in files),
        len(small),
        sum(small),
        level0_files=sum(1 for file in files if keyed and file.level == 0),
        changed=max(file.created for file in files),
    )


def _last_compaction(known: Sequence[Snapshot]) -> float | None:
    return next((each.millis / 1000 for each in known if each.kind == "COMPACT"), None)
