"""Paimon tables that do not exist yet: created by many at once, by somebody who was killed, and for nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.plan.model import Dataset
from tests.spark.lake import LiveEngine, paimon_table, writing
from tests.spark.paimon.jobs import appending, ids, place_of

pytestmark = pytest.mark.slow


def test_many_jobs_create_tables_of_a_new_database_in_sqlite(here: LiveEngine, there: LiveEngine, fresh: str) -> None:
    targets = [paimon_table(name, "sea", f"db_{fresh}") for name in (fresh, f"{fresh}too")]
    here.inspect("tables", targets[0])  # the catalog has its own tables from here on, and those of nobody else
    sent = [(here, there)[n % 2].start_job(appending(targets[n // 6], 5 * n, f"j{n}")) for n in range(6 * len(targets))]
    assert [pending.done()[0].rows for pending in sent] == [5] * len(sent)
    assert [ids(here, target) for target in targets] == [list(range(30)), list(range(30, 60))]
    found = there.inspect("tables", targets[0])["tables"]
    assert {each["table"] for each in found if each["namespace"] == f"db_{fresh}"} == {fresh, f"{fresh}too"}


@pytest.mark.exhaustive
def test_a_table_whose_creator_was_killed_can_be_created(here: LiveEngine, target: Dataset, root: Path) -> None:
    """Its schema is there, and its catalog does not know it."""
    sea = replace(target, address=f"dataos://sea:raw/{target.table}", depot="sea")
    here.run(appending(sea, 0, rows=0))
    with closing(sqlite3.connect(root / "sea.db")) as catalog, catalog:
        assert catalog.execute("DELETE FROM paimon_tables WHERE table_name = ?", [sea.table]).rowcount == 1
    assert (place_of(sea, root) / "schema" / "schema-0").exists()
    here.run(appending(sea, 0))
    assert ids(here, sea) == list(range(5))


def test_a_table_that_a_failed_write_has_created_goes_with_it(
    here: LiveEngine, target: Dataset, root: Path, fresh: str
) -> None:
    sea = replace(target, address=f"dataos://sea:raw/{fresh}", depot="sea")
    for each in (target, sea):
        here.fail(writing("SELECT id + raise_error('no') AS id FROM range(1)", each, mode="append"))
        assert str(each.table) not in str(here.inspect("tables", each))
        assert not place_of(each, root).exists()
        here.run(writing("SELECT 'other' AS columns", each))
        here.fail(writing("SELECT raise_error('no') AS columns", each))
        assert here.rows(f"SELECT * FROM {each.identifier}") == [("other",)]
