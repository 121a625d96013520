"""Many writers, one table: nothing is lost, nothing is doubled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.plan.model import JobPlan
from tests.spark.lake import LiveEngine, job, lake_depot, output, step, table, writing

JOBS = 6


def test_jobs_of_one_engine_create_and_append_at_once(engine: LiveEngine, fresh: str) -> None:
    jobs = [
        writing(f"SELECT {n} AS job, id FROM range(100)", table(fresh, namespace=fresh), name=f"j{n}", mode="append")
        for n in range(JOBS)
    ]
    for pending in [engine.start_job(each) for each in jobs]:
        assert pending.done()[0].rows == 100
    found = engine.rows(f"SELECT job, count(*), count(DISTINCT id) FROM lake.{fresh}.{fresh} GROUP BY job ORDER BY job")
    assert found == [(n, 100, 100) for n in range(JOBS)]
    written = [entry["write_ids"] for entry in engine.inspect("snapshots", table(fresh, namespace=fresh))["snapshots"]]
    assert sum(len(ids) for ids in written) == JOBS


@pytest.mark.slow
def test_two_engines_on_a_depot_that_neither_has_seen_before(
    start_java: Callable[..., LiveEngine], start_engine: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    depot = lake_depot(tmp_path)
    engines = [start_java(depot, key="one"), start_engine(depot, key="two")]
    sent = [
        (n, engine.start_job(writing(f"SELECT {n} AS job, id FROM range(10)", table("t"), name=f"j{n}", mode="append")))
        for n, engine in enumerate(engines * 3)
    ]
    for _, pending in sent:
        assert pending.done()[0].rows == 10
    found = engines[0].rows("SELECT job, count(*) FROM lake.raw.t GROUP BY job ORDER BY job")
    assert found == [(n, 10) for n, _ in sent]


def test_views_and_settings_of_one_job_are_not_seen_by_another(engine: LiveEngine, fresh: str) -> None:
    def with_view(rows: int, ansi: str) -> JobPlan:
        steps = [
            step("shared", f"SELECT id FROM range({rows})"),
            step("rows", "SELECT CAST('x' AS INT), * FROM shared"),
        ]
        return job(output("rows", table(f"{fresh}_{rows}")), steps=steps, conf={"spark.sql.ansi.enabled": ansi})

    first, second = engine.start_job(with_view(3, "false")), engine.start_job(with_view(4, "true"))
    assert first.done()[0].rows == 3
    assert second.failed().code == "write-failed"  # the cast fails where ANSI is on
    assert engine.refused_query("SELECT * FROM shared").code == "table-or-view-not-found"
