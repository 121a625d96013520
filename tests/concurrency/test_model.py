"""Two engines, kills at any point, recoveries, compaction, expiry, merges and deletions, a metastore that falls back,
sealed writes that spoil their batch and replacements of the table, in any order, against a model of the table.

Hypothesis chooses the steps. The model knows every way the table may look after each of them; a reader that sees
anything else has found a row that is lost, doubled or half of a write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from catchment.commit.faults import CommonPoint, Point, TablePoint
from catchment.commit.recovery import unfinished
from catchment.engine.protocol import Failed
from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.store.writes import FATE_UNKNOWN, WriteMode
from tests.concurrency.invariants import check
from tests.concurrency.upkeep import compact, expire
from tests.concurrency.waiting import worker_of
from tests.concurrency.worlds import PARTS, Effect, World, seen_as
from tests.ledgers import Filled, end_leases, forget_engine, forget_tail, spoil
from tests.spark.lake import LiveEngine, by, deleting, lake_depot, merging, table, writing

engines = st.sampled_from((0, 1))
MODES: tuple[WriteMode, ...] = ("append", "overwrite", "overwrite-partitions")
modes = st.sampled_from(MODES)
parts = st.lists(st.integers(0, PARTS - 1), min_size=1, max_size=4)
"""One row for each."""
points = st.sampled_from((*get_args(CommonPoint), *get_args(TablePoint)))
row_points = st.sampled_from(("before-own-commit", "own-commit-applied", "before-marked", "marked"))
"""Where a change of rows may be killed: it has no seal."""
changes = st.sampled_from(("insert", "upsert", "delete"))
FIRST: tuple[Point, ...] = ("swap-applied", "before-sealed", "sealed", "manifest-list-written")
"""Where the first kill of each example strikes, in turn: the points that differ most."""
EXAMPLES, STEPS, KILLS = 5, 16, 3
REPLACED = "table-redefined"


@dataclass(frozen=True)
class Planned:
    """A write of the model, and the job that does it."""

    write_id: str
    run: str
    job: JobPlan
    effect: Effect


@dataclass
class Lab:
    """Where one example after the other is tried."""

    engines: tuple[LiveEngine, LiveEngine]
    start_victim: Callable[[Point], LiveEngine]
    filled: Filled
    prefix: str
    kills: int
    """How many engines may be killed in one example."""
    examples: int = 0

    def begin(self) -> tuple[str, Point]:
        """A table for the next example, and where its first kill strikes."""
        point = FIRST[self.examples % len(FIRST)]
        self.examples += 1
        return f"{self.prefix}_{self.examples}", point


class Table(RuleBasedStateMachine):
    """One table and everything that may happen to it."""

    def __init__(self, lab: Lab) -> None:
        super().__init__()
        self.lab = lab
        self.name, self.first_point = lab.begin()
        self.ids, self.killed_engines, self.replaced = 0, 0, 0
        self.acknowledged: list[Planned] = []
        self.killed: list[Planned] = []
        self.changed_rows: list[Planned] = []
        """Changes of rows that were killed."""
        self.worlds = frozenset({World()})

    @initialize(mode=modes, parts=parts)
    def begin_with_a_kill(self, mode: WriteMode, parts: list[int]) -> None:
        self.write(0, "append", [0, 1, 2])
        self.write_and_be_killed(mode, parts, self.first_point)

    @rule(engine=engines, mode=modes, parts=parts)
    def write(self, engine: int, mode: WriteMode, parts: list[int]) -> None:
        self._acknowledge(self._run(engine, planned := self._plan(mode, parts)), planned)
        self.worlds = frozenset(world.then(planned.effect) for world in self.worlds)

    @rule(modes=st.tuples(modes, modes), parts=st.tuples(parts, parts))
    def write_two_at_once(self, modes: tuple[WriteMode, WriteMode], parts: tuple[list[int], list[int]]) -> None:
        first, second = (self._plan(mode, each) for mode, each in zip(modes, parts, strict=True))
        started = [self._run(engine, planned) for engine, planned in enumerate((first, second))]
        for pending, planned in zip(started, (first, second), strict=True):
            self._acknowledge(pending, planned)
        orders = ((first.effect, second.effect), (second.effect, first.effect))
        self.worlds = frozenset(world.then(*order) for world in self.worlds for order in orders)

    @precondition(lambda self: self.killed_engines < self.lab.kills)
    @rule(mode=modes, parts=parts, point=points)
    def write_and_be_killed(self, mode: WriteMode, parts: list[int], point: Point) -> None:
        self._kill(planned := self._plan(mode, parts), point)
        # It may have published what others had promised, before it was killed or before it began.
        before = self.worlds | {world.settled() for world in self.worlds}
        if self._state(planned) in ("sealed", "committed"):
            self.worlds = frozenset(
                after for world in before for after in (world.promise(planned.effect), world.then(planned.effect))
            )
        else:
            self.worlds = before

    @precondition(lambda self: self.killed)
    @rule(engine=engines, data=st.data())
    def run_again_what_was_killed(self, engine: int, data: Any) -> None:
        planned = data.draw(st.sampled_from(self.killed), label="write")
        self.killed.remove(planned)  # whatever comes of it: what may be drawn next depends on draws alone
        if self._nobody_knows(planned):
            return
        state = self._state(planned)
        settled = frozenset(world.settled() for world in self.worlds)
        answer = self._run(engine, planned).answer()
        if isinstance(answer, Failed):
            assert (answer.code, state) == (REPLACED, "sealed")
            self.worlds = settled
            return
        self.acknowledged.append(planned)
        if state == "committed":  # by others; then nothing is published, and what is promised may stay so
            self.worlds |= settled
        elif state == "sealed":
            self.worlds = settled
        else:
            self.worlds = frozenset(world.then(planned.effect) for world in self.worlds)

    @rule(engine=engines, data=st.data())
    def run_again_what_was_acknowledged(self, engine: int, data: Any) -> None:
        self._run(engine, data.draw(st.sampled_from(self.acknowledged), label="write")).done()
        self.worlds |= {world.settled() for world in self.worlds}

    @rule(engine=engines, how=changes, part=st.integers(0, PARTS - 1), nth=st.integers(0, 9))
    def change_rows(self, engine: int, how: str, part: int, nth: int) -> None:
        self._run(engine, planned := self._plan_change(how, part, nth)).done()
        self.acknowledged.append(planned)
        self._change_worlds(planned)

    @precondition(lambda self: self.killed_engines < self.lab.kills)
    @rule(how=changes, part=st.integers(0, PARTS - 1), nth=st.integers(0, 9), point=row_points)
    def change_rows_and_be_killed(self, how: str, part: int, nth: int, point: Point) -> None:
        self._kill(planned := self._plan_change(how, part, nth), point, self.changed_rows)
        if point == "before-own-commit":
            self.worlds |= {world.settled() for world in self.worlds}
        else:
            self._change_worlds(planned)

    @precondition(lambda self: self.changed_rows)
    @rule(engine=engines)
    def change_rows_again(self, engine: int) -> None:
        """A change that is in the history is done; one that is not is evaluated on the table as it is now."""
        planned = self.changed_rows.pop()
        is_done = planned.write_id in self._history() or self._state(planned) == "committed"
        answer = self._run(engine, planned).answer()
        if isinstance(answer, Failed):
            assert (answer.code, is_done) == (FATE_UNKNOWN, False)
        elif not is_done:
            self._change_worlds(planned)
        self.worlds |= {world.settled() for world in self.worlds}

    @rule(engine=engines, count=st.integers(1, 3))
    def fail_over_to_an_older_metastore(self, engine: int, count: int) -> None:
        """The newest writes are lost to the ledger, and run again as if nobody had heard of their end."""
        known = self._history()
        lost = [planned for planned in self.acknowledged if planned.write_id in known][-count:]
        forget_tail(self.lab.filled.store, table(self.name).address, [planned.write_id for planned in lost])
        for planned in lost:
            self._run(engine, planned).done()
        self.worlds |= {world.settled() for world in self.worlds}

    @rule(engine=engines)
    def replace_the_table(self, engine: int) -> None:
        id, self.ids, self.replaced = self.ids, self.ids + 1, self.replaced + 1
        values = f"SELECT 0 AS part, {id} AS id"
        how = f"CREATE OR REPLACE TABLE lake.raw.{self.name} USING iceberg PARTITIONED BY (part)"
        self.lab.engines[engine].ask(f"{how} AS {values}")
        self.worlds = frozenset(after for world in self.worlds for after in world.replaced(((0, id),)))

    @precondition(lambda self: self.killed)
    @rule(engine=engines)
    def spoil_a_sealed_write(self, engine: int) -> None:
        planned = self.killed.pop(0)
        if not self._is_untried(planned):
            return
        spoil(self.lab.filled, planned.write_id)
        [done] = self.lab.engines[engine].recover(table(self.name))
        assert planned.write_id in {each["write_id"] for each in done["refused"]}
        if self._state(planned) == "sealed":  # not refused for another reason
            self.lab.filled.store.decisions.drop(planned.write_id)
        self.worlds = frozenset(world.without(planned.effect).settled() for world in self.worlds)

    @rule(engine=engines)
    def recover(self, engine: int) -> None:
        [done] = self.lab.engines[engine].recover(table(self.name))
        assert done["error"] is None
        assert {each["code"] for each in done["refused"]} <= {FATE_UNKNOWN, REPLACED}
        self.worlds = frozenset(world.settled() for world in self.worlds)

    @rule(engine=engines, task=st.sampled_from((compact, expire)))
    def keep_house(self, engine: int, task: Callable[[LiveEngine, str], None]) -> None:
        task(self.lab.engines[engine], self.name)

    @invariant()
    def a_reader_sees_what_should_be_there(self) -> None:
        found = self.lab.engines[0].rows(f"SELECT part, id FROM lake.raw.{self.name} ORDER BY part, id")
        rows = tuple((part, id) for part, id in found)
        expected, self.worlds = self.worlds, seen_as(self.worlds, rows)
        assert self.worlds, f"{rows} is none of {sorted(world.seen for world in expected)}"

    def teardown(self) -> None:
        self.recover(0)
        self.a_reader_sees_what_should_be_there()
        check(self.lab.engines[0], self.name, replaced=self.replaced)
        assert unfinished(self.lab.filled.store, [table(self.name).address]) == ()

    def _plan(self, mode: WriteMode, parts: list[int]) -> Planned:
        first, self.ids = self.ids, self.ids + len(parts)
        rows = tuple(sorted((part, first + number) for number, part in enumerate(parts)))
        values = ", ".join(f"({part}, {id})" for part, id in rows)
        run, sql = f"{self.name}-{first}", f"SELECT * FROM VALUES {values} AS t(part, id)"
        job = writing(sql, table(self.name), mode=mode, partitions=(by("identity", "part"),))
        return Planned(f"{run}/job/out", run, job, Effect(mode, rows))

    def _plan_change(self, how: str, part: int, nth: int) -> Planned:
        """A merge of a new row, and with `upsert` of one that is there; or a deletion of a partition."""
        new, self.ids = self.ids, self.ids + 1
        run = f"{self.name}-{new}"
        if how == "delete":
            job = deleting(table(self.name), f"part = {part}")
            return Planned(f"{run}/cleaning/delete_from_dataset", run, job, Effect("delete", ((part, new),)))
        seen = [id for _, id in next(iter(self.worlds)).seen] if how == "upsert" else []
        ids = [new, *seen[nth % len(seen) : nth % len(seen) + 1]] if seen else [new]
        values = ", ".join(f"({part}, {id})" for id in ids)
        when = "NOT MATCHED THEN INSERT *"
        if how == "upsert":
            when = f"MATCHED THEN UPDATE SET part = (old.part + 1) % {PARTS} WHEN {when}"
        sql = f"SELECT * FROM VALUES {values} AS t(part, id)"
        job = merging(sql, table(self.name), "old.id = new.id", when)
        return Planned(f"{run}/job/out", run, job, Effect("merge", tuple((part, id) for id in ids)))

    def _change_worlds(self, planned: Planned) -> None:
        """A change of rows was committed; the engine may have published before what others had promised."""
        before = self.worlds | {world.settled() for world in self.worlds}
        self.worlds = frozenset(world.at_once(planned.effect) for world in before)

    def _kill(self, planned: Planned, point: Point, into: list[Planned] | None = None) -> None:
        """Let an engine begin a write and be killed at a point of it."""
        self.killed_engines += 1
        (self.killed if into is None else into).append(planned)
        victim = self.lab.start_victim(point)
        assert isinstance(victim.start_job(planned.job, run=planned.run).answer(), EngineLost)
        end_leases(self.lab.filled.store, worker_of(victim))
        self._forget_victim(planned)

    def _history(self) -> set[str]:
        """The ids of the writes in the table's history."""
        history = self.lab.engines[0].inspect("snapshots", table(self.name))["snapshots"]
        return {write_id for snapshot in history for write_id in snapshot["write_ids"]}

    def _run(self, engine: int, planned: Planned) -> Any:
        return self.lab.engines[engine].start_job(planned.job, run=planned.run)

    def _acknowledge(self, pending: Any, planned: Planned) -> None:
        [report] = pending.done()
        assert report.rows == len(planned.effect.rows)
        self.acknowledged.append(planned)

    def _state(self, planned: Planned) -> str | None:
        return self.lab.filled.ledger.state(planned.write_id)

    def _is_untried(self, planned: Planned) -> bool:
        known = self.lab.filled.ledger.find(planned.write_id)
        return known is not None and known.state == "sealed" and not known.tried

    def _nobody_knows(self, planned: Planned) -> bool:
        """Its swap was sent, and the history that would tell was expired: a person looks before running it again."""
        known = self.lab.filled.ledger.find(planned.write_id)
        return known is not None and (known.error or {}).get("code") == FATE_UNKNOWN

    def _forget_victim(self, planned: Planned) -> None:
        """Its sign of life ends in time; end it now."""
        store, known = self.lab.filled.store, self.lab.filled.ledger.find(planned.write_id)
        if known and store.leases.holder(known.intent.owner):
            forget_engine(store, known.intent.owner)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_happens_the_table_is_as_it_should_be(
    engine: LiveEngine,
    root: Path,
    start_engine: Callable[..., LiveEngine],
    filled: Filled,
    fresh: str,
) -> None:
    other = start_engine(lake_depot(root), key="other")
    other.ready()

    def victim(point: Point) -> LiveEngine:
        return start_engine(lake_depot(root), key="victim", fault=f"{point}:kill")

    lab = Lab((engine, other), victim, filled, fresh, KILLS)
    table_of_an_example: Any = lambda: Table(lab)  # noqa: E731
    run_state_machine_as_test(
        table_of_an_example,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            phases=[Phase.generate],  # a failure is told as it was found: making it smaller would take hours
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert lab.examples >= EXAMPLES
