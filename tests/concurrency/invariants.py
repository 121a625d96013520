"""What must hold in every table, whatever was killed: checked from the table itself, not from what writers said."""

from __future__ import annotations

from collections import Counter

from tests.spark.lake import LiveEngine, table


def ids(engine: LiveEngine, name: str, depot: str = "lake") -> list[int]:
    """Every id in the table, in order, repetitions included."""
    return [row[0] for row in engine.rows(f"SELECT id FROM `{depot}`.raw.{name} ORDER BY id")]


def check(engine: LiveEngine, name: str, depot: str = "lake", *, replaced: int = 0) -> None:
    """No file twice, every live file there with its rows, an unbroken line of snapshots, no write id twice.

    A table that was replaced begins a line of its own each time.
    """
    where = f"`{depot}`.raw.{name}"
    listed = engine.rows(f"SELECT file_path, record_count, content FROM {where}.files")
    assert len({path for path, *_ in listed}) == len(listed), "a file is in the table twice"
    files = [(path, rows) for path, rows, content in listed if content == 0]  # not those that say what was deleted
    # All columns are read, so that it is the files that answer, wherever they are, and not the metadata.
    read = engine.rows(f"SELECT _file, count(*), sum(hash(*)) FROM {where} GROUP BY _file")
    assert {path: rows for path, rows, _ in read} == {path: rows for path, rows in files if rows}
    line = engine.rows(f"SELECT snapshot_id, parent_id FROM {where}.snapshots ORDER BY committed_at, parent_id")
    children = Counter(parent for _, parent in line)
    beginnings = children.pop(None, 0)
    assert not [parent for parent, count in children.items() if count > 1], "two snapshots have one parent"
    assert beginnings <= 1 + replaced, "a line of snapshots begins anew"
    snapshots = engine.inspect("snapshots", table(name, depot))["snapshots"]
    known = Counter(write for entry in snapshots for write in entry["write_ids"])
    assert not [write for write, times in known.items() if times > 1]
