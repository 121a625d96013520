"""The published incremental workflow, fourteen months of it, killed at every point on the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from catchment import plan
from catchment.errors import EngineLost
from catchment.plan.model import EnginePlan, JobPlan, Plan
from catchment.store import open_store
from tests.concurrency.test_incremental_kills import BEFORE, SEALED
from tests.concurrency.waiting import worker_of
from tests.ledgers import end_leases
from tests.spark.hosts import Host
from tests.spark.lake import LiveEngine, table, writing

SEED = Path(__file__).parent.parent / "workflows" / "seed-004.yaml"
WORKFLOW, JOB = "incremental-ingestion-08", "order-incremental-08"
MONTHS = 14
ORDERS = f"""
    select month * 10 + day as id, day * 1.5 as amount,
           add_months(date '2020-01-01', month) + (day * 3) + interval 12 hours as order_date
    from (select explode(sequence(0, {MONTHS - 1})) as month), (select explode(sequence(0, 3)) as day)
"""
Start = Callable[[str], LiveEngine]


@pytest.fixture
def planned(tmp_path: Path) -> Plan:
    shutil.copy(SEED, tmp_path / "orders.yaml")
    return plan.prepare(tmp_path / "orders.yaml").require()[1]


@pytest.fixture
def start(planned: Plan, tmp_path: Path, engine: Host, elsewhere: Host) -> Iterator[Start]:
    (ours,) = planned.engines
    started: list[LiveEngine] = []

    def begin(fault: str = "") -> LiveEngine:
        java = elsewhere if fault else engine
        started.append(java.guest(_armed(ours, fault), tmp_path / f"logs-{len(started)}"))
        return started[-1]

    yield begin
    for live in started:
        live.process.stop(grace=5)


def _armed(engine: EnginePlan, fault: str) -> EnginePlan:
    small = {**engine.conf, "spark.sql.shuffle.partitions": "1"}
    return replace(engine, conf=small, envs={**engine.envs, "CATCHMENT_FAULT": fault} if fault else engine.envs)


def run(engine: LiveEngine, jobs: tuple[JobPlan, ...], name: str) -> list[int]:
    """One run of the workflow: the rows that its first job wrote."""
    rows = [report.rows or 0 for report in engine.start_job(jobs[0], workflow=WORKFLOW, run=name).done()]
    engine.start_job(jobs[1], workflow=WORKFLOW, run=name).done()
    return rows


@pytest.mark.slow
@pytest.mark.exhaustive
def test_fourteen_months_are_read_once_each_whatever_is_killed(planned: Plan, start: Start) -> None:
    engine = start("")
    engine.run(writing(ORDERS, table("orders_enriched", "icebase", "retail"), mode="append"))
    with open_store(planned.engines[0].metastore) as store:

        def killed_at(point: str) -> None:
            victim = start(f"{point}:kill")
            answer = victim.start_job(planned.jobs[0], workflow=WORKFLOW, run=f"killed-{point}").answer()
            assert isinstance(answer, EngineLost)
            end_leases(store, worker_of(victim))

        for point in (*BEFORE, *SEALED):
            killed_at(point)
            assert run(engine, planned.jobs, f"after-{point}") == [4]
        killed_at("state-moved")
        killed_at("before-state-moved")  # of the month after that one
        assert run(engine, planned.jobs, "next") == [4]
        killed_at("marked")
        assert run(engine, planned.jobs, "settling") == []
        assert run(engine, planned.jobs, "nothing-new") == []
        states = store.states.of_job(WORKFLOW, JOB)
        assert states["order_input"].keys == {"start": "2021-03-01 00:00:00"}
        windows = store.states.windows(WORKFLOW, JOB)
    assert {window.status for window in windows} == {"done"}
    starts = sorted(window.inputs["order_input"].values["start"] for window in windows)
    assert len(starts) == len(set(starts)) == MONTHS
    columns = "id, amount, order_date"
    expected = engine.rows(f"select {columns} from icebase.retail.orders_enriched order by id")
    assert len(expected) == 4 * MONTHS
    for catalog in ("icebase", "icebase_published"):
        assert engine.rows(f"select {columns} from {catalog}.sample.order_incremental_08 order by id") == expected
