"""The heart on every kind of lake: two engines write one table, a third is killed, and every row is there once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import JobPlan
from tests.concurrency.invariants import check, ids
from tests.ledgers import forget_engine
from tests.servers.s3 import SECRET
from tests.spark.lake import by, job, output, step, table, writing
from tests.spark.overtaking import at_gate, gate
from tests.stores.lakes import Lake, appending

pytestmark = pytest.mark.slow


def replacing(name: str, mark: str, parts: str, **more: Any) -> JobPlan:
    """A job that replaces partitions of nine ids in three."""
    sql = f"SELECT id, '{mark}' AS mark, id % 3 AS part FROM range(9) WHERE id % 3 IN ({parts})"
    mode, spec = more.pop("mode", "overwrite-partitions"), (by("identity", "part"),)
    return writing(sql, table(name), name=mark, mode=mode, partitions=spec, **more)


def marks(lake: Lake, name: str) -> list[tuple[Any, ...]]:
    return lake.there.rows(f"SELECT part, mark, count(*) FROM lake.raw.{name} GROUP BY ALL ORDER BY ALL")


def test_two_engines_create_and_append_and_all_of_it_is_kept(lake: Lake, fresh: str) -> None:
    engines = (lake.here, lake.there)
    pending = [engines[n % 2].start_job(appending(fresh, 10 * n, f"job-{n}", files=1 + n % 3)) for n in range(8)]
    for each in pending:
        assert each.done()[0].rows == 10
    assert ids(lake.here, fresh) == list(range(80))
    assert ids(lake.there, fresh) == list(range(80))
    check(lake.here, fresh)
    for engine in engines:
        assert [log.name for log in engine.log_dir.iterdir() if SECRET in log.read_text()] == []


def test_overwrites_of_two_engines_replace_what_they_produce(lake: Lake, fresh: str) -> None:
    lake.here.run(replacing(fresh, "old", "0, 1, 2"))
    both = [lake.here.start_job(replacing(fresh, "one", "1")), lake.there.start_job(replacing(fresh, "two", "2"))]
    for each in both:
        assert each.done()[0].rows == 3
    assert marks(lake, fresh) == [(0, "old", 3), (1, "one", 3), (2, "two", 3)]
    lake.there.run(replacing(fresh, "all", "0", mode="overwrite"))
    assert marks(lake, fresh) == [(0, "all", 3)]
    check(lake.here, fresh)


@pytest.mark.parametrize("point", ["sealed", "swap-applied"])
def test_what_a_killed_engine_sealed_another_one_publishes_once(
    lake: Lake, fresh: str, tmp_path: Path, point: str
) -> None:
    lake.here.run(appending(fresh, 0, "early"))
    lake.kill(point, appending(fresh, 10, "lost"), run=f"r-{fresh}", logs=tmp_path)
    lake.there.run(appending(fresh, 20, "late"))
    assert ids(lake.here, fresh) == list(range(30))
    [report] = lake.here.run(appending(fresh, 10, "lost"), run=f"r-{fresh}", number=2)
    assert report.rows == 10
    assert ids(lake.there, fresh) == list(range(30))
    check(lake.here, fresh)


def test_a_lost_commit_that_lies_behind_a_later_one_is_found(lake: Lake, fresh: str, tmp_path: Path) -> None:
    """Also where the catalog shows the newest snapshot only: then the live files tell."""
    lake.kill("swap-applied", appending(fresh, 0, "lost"), run=f"r-{fresh}", logs=tmp_path)
    lake.there.run(writing("SELECT id FROM range(10, 20)", table(fresh), mode="append", commit="direct"))
    lake.here.run(appending(fresh, 20, "late"))
    lake.here.run(appending(fresh, 0, "lost"), run=f"r-{fresh}", number=2)
    assert ids(lake.there, fresh) == list(range(30))
    check(lake.here, fresh)


def test_recovery_removes_the_files_of_a_write_that_was_never_sealed(lake: Lake, fresh: str, tmp_path: Path) -> None:
    lake.here.run(appending(fresh, 0, "early"))
    lake.kill("before-sealed", appending(fresh, 10, "lost"), run=f"r-{fresh}", logs=tmp_path)
    with lake.ledger() as filled:
        lost = filled.find(f"r-{fresh}/lost/out").intent
        forget_engine(filled.store, lost.owner)
    assert lake.files(lost.buffer)
    [done] = lake.there.recover(table(fresh))
    assert (done["abandoned"], done["removed"], done["kept"]) == ([f"r-{fresh}/lost/out"], [lost.buffer], [])
    assert lake.files(lost.buffer) == []
    assert ids(lake.here, fresh) == list(range(10))
    check(lake.here, fresh)


@pytest.mark.exhaustive
def test_a_branch_gets_what_is_written_to_it(lake: Lake, fresh: str) -> None:
    lake.here.run(appending(fresh, 0, "main"))
    lake.here.ask(f"ALTER TABLE lake.raw.{fresh} CREATE BRANCH audit")
    side = writing("SELECT id FROM range(10, 20)", table(fresh), mode="append", options={"branch": "audit"})
    if not lake.branches:
        assert lake.there.fail(side).code == "branch-not-found"
        assert ids(lake.here, fresh) == list(range(10))
        return
    lake.there.run(side)
    assert ids(lake.here, fresh) == list(range(10))
    assert lake.here.value(f"SELECT count(*) FROM lake.raw.{fresh} VERSION AS OF 'audit'") == 20


@pytest.mark.exhaustive
def test_an_overwrite_that_was_overtaken_fails_where_that_was_asked_for(lake: Lake, fresh: str) -> None:
    lake.here.run(replacing(fresh, "old", "0, 1, 2"))
    rows = f"SELECT max(id) AS id, string(max(seen)) AS mark, 0 AS part FROM gate, lake.raw.{fresh} WHERE part = 0"
    replaced = output("rows", table(fresh), mode="overwrite-partitions", conflict="fail")
    pending = lake.here.start_job(job(replaced, steps=[gate(table(fresh)), step("rows", rows)]))
    with at_gate(lake.here, table(fresh)):
        lake.there.run(replacing(fresh, "new", "0"))
    failed = pending.failed()
    assert (failed.code, failed.retryable) == ("partitions-changed", True)
    assert marks(lake, fresh) == [(0, "new", 3), (1, "old", 3), (2, "old", 3)]
    check(lake.here, fresh)
