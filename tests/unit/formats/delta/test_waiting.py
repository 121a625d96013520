"""A compaction lets overwrites and merges go first, which it would force to start again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.formats.delta import maintenance
from catchment.formats.delta.maintenance import MaintainedTable
from catchment.plan.model import Dataset, Rewrite
from catchment.store.writes import Contents, Entry, WriteMode
from tests.ledgers import ALIVE, LOST, Filled

EVENTS = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", "/events/raw/t")


@dataclass
class Spark:
    """A session that rewrites nothing, and a listener of its compaction; only the ledger is real."""

    filled: Filled
    write: Entry
    looks: int = 0
    begun: list[str | None] = field(default_factory=list)
    """The state of the write when a rewrite begins."""

    def check(self) -> None:
        """Called before each attempt, and each time that it has to wait; the third time, the write ends."""
        self.looks += 1
        if self.looks == 3:
            self.filled.ledger.finish(self.write.intent, Contents((), 1, 1, 1), 7)

    def sql(self, statement: str) -> Any:
        self.begun.append(self.filled.ledger.state(self.write.write_id))
        return SimpleNamespace(collect=lambda: [SimpleNamespace(metrics=statement)])


def compacted_beside(filled: Filled, monkeypatch: pytest.MonkeyPatch, **write: Any) -> Any:
    """Compact a table while a write is open."""
    monkeypatch.setattr(maintenance, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(maintenance, "needs_table_lease", lambda *_: False)
    monkeypatch.setattr(maintenance, "set_for_now", lambda *_: nullcontext())
    filled.engine()
    asked = {"owner": ALIVE, "target": EVENTS.address, "buffered": False, **write}
    spark: Any = Spark(filled, filled.open("r/j/out", **asked))
    writer: Any = SimpleNamespace(store=filled.store)
    needs: Any = None
    table = MaintainedTable(spark, EVENTS, writer, needs, spark)
    assert table._run(Rewrite(), "OPTIMIZE", {}) == "OPTIMIZE"
    return spark


@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions", "merge"])
def test_a_rewrite_begins_when_the_write_under_way_has_ended(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, mode: WriteMode
) -> None:
    spark = compacted_beside(filled, monkeypatch, mode=mode)
    assert (spark.begun, spark.looks) == (["committed"], 3)


@pytest.mark.parametrize(
    "write",
    [{"mode": "append"}, {"mode": "merge", "owner": LOST}, {"mode": "merge", "target": "dataos://events:raw/other"}],
    ids=["append", "dead engine", "other table"],
)
def test_a_rewrite_waits_for_no_other_write(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, write: dict[str, Any]
) -> None:
    spark = compacted_beside(filled, monkeypatch, **write)
    assert (spark.begun, spark.looks) == (["open"], 1)
