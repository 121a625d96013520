"""What must hold in every table, whatever was killed: checked from the table itself, not from what writers said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.spark.lake import LiveEngine, table


def ids(engine: LiveEngine, name: str) -> list[int]:
    """Every id in the table, in order, repetitions included."""
    return [row[0] for row in engine.rows(f"SELECT id FROM lake.raw.{name} ORDER BY id")]


def check(engine: LiveEngine, name: str) -> None:
    """No file twice, every live file there with its rows, an unbroken line of snapshots, no write id twice."""
    files = engine.rows(f"SELECT file_path, record_count, file_size_in_bytes FROM lake.raw.{name}.files")
    paths = [path for path, _, _ in files]
    assert len(paths) == len(set(paths))
    for path, _, size in files:
        assert Path(str(path).removeprefix("file:")).stat().st_size == size
    counted = engine.value(f"SELECT count(*) FROM lake.raw.{name}")
    assert sum(rows for _, rows, _ in files) == counted
    line = engine.rows(f"SELECT snapshot_id, parent_id FROM lake.raw.{name}.snapshots ORDER BY committed_at, parent_id")
    parents = dict(line)
    assert len(set(parents.values())) == len(parents), "two snapshots have one parent"
    known = Counter(
        write for entry in engine.inspect("snapshots", table(name))["snapshots"] for write in entry["write_ids"]
    )
    assert not [write for write, times in known.items() if times > 1]
