"""A REST catalog that carries out a request long after it was given up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from catchment.plan.model import JobPlan
from tests.concurrency.invariants import check
from tests.concurrency.waiting import until
from tests.servers.gate import Gate
from tests.servers.s3 import S3Server
from tests.spark.lake import by, merging, table, writing
from tests.stores import lakes
from tests.stores.lakes import Lake

pytestmark = pytest.mark.slow

ON, UNLESS_MORE = "old.id = new.id", "MATCHED AND old.more = 0 THEN UPDATE SET part = new.part"


@pytest.fixture(scope="module")
def late(store: S3Server, on_s3: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lake, Gate]]:
    with lakes.at_rest_behind_a_gate(tmp_path_factory.mktemp("late"), store, on_s3) as found:
        yield found


def replacing(name: str, number: int, depot: str, **more: Any) -> JobPlan:
    spec = (by("identity", "part"),)
    mode = "overwrite-partitions"
    return writing(f"SELECT {number} AS id, 1 AS part", table(name, depot), mode=mode, partitions=spec, **more)


def rows(lake: Lake, name: str) -> list[int]:
    return [row[0] for row in lake.there.rows(f"SELECT id FROM lake.raw.{name} ORDER BY id")]


def test_a_swap_that_lands_after_its_write_was_published_changes_nothing(late: tuple[Lake, Gate], fresh: str) -> None:
    lake, gate = late
    lake.there.run(replacing(fresh, 1, "lake"))
    gate.close("late", at=rf"POST .*/tables/{fresh}", seconds=600)
    pending = lake.here.start_job(replacing(fresh, 2, "late"))
    until(lambda: gate.keeps_one)
    gate.open()
    pending.done()
    lake.there.run(replacing(fresh, 3, "lake"))
    assert gate.deliver() == 409
    assert rows(lake, fresh) == [3]
    check(lake.there, fresh)


def test_a_merge_that_lands_after_it_was_given_up_changes_nothing(late: tuple[Lake, Gate], fresh: str) -> None:
    lake, gate = late
    lake.there.run(writing("SELECT 1 AS id, 1 AS part, 0 AS more", table(fresh, "lake")))
    gate.close("late", at=rf"POST .*/tables/{fresh}", seconds=600)
    rows_of = "SELECT 1 AS id, 7 AS part"
    merge = merging(rows_of, table(fresh, "late"), ON, UNLESS_MORE)
    pending = lake.here.start_job(merge)
    until(lambda: gate.keeps_one)
    # The branch stays where it is, and the next attempt fails.
    lake.there.ask(f"ALTER TABLE lake.raw.{fresh} DROP COLUMN more")
    gate.open()
    assert pending.failed().code == "column-not-found"
    assert gate.deliver() == 409
    assert lake.there.rows(f"SELECT id, part FROM lake.raw.{fresh}") == [(1, 1)]
    check(lake.there, fresh)


@pytest.mark.parametrize("commit", ["buffered", "direct"])
def test_a_swap_that_lands_after_its_write_was_refused_changes_nothing(
    late: tuple[Lake, Gate], fresh: str, commit: str
) -> None:
    lake, gate = late
    lake.there.run(replacing(fresh, 1, "lake"))
    gate.close("late", at=rf"POST .*/tables/{fresh}", seconds=600)
    pending = lake.here.start_job(replacing(fresh, 2, "late", commit=commit))
    until(lambda: gate.keeps_one)
    # The branch stays where it is: only the definition of the table changes.
    lake.there.ask(f"ALTER TABLE lake.raw.{fresh} ADD PARTITION FIELD bucket(4, id)")
    gate.open()
    assert pending.failed().code == "mixed-partition-specs"
    assert gate.deliver() == 409
    assert rows(lake, fresh) == [1]
    check(lake.there, fresh)
