"""Dropping Iceberg tables: files and published versions go with them, and nobody's unfinished rows do."""

from __future__ import annotations

from pathlib import Path

from tests.concurrency.waiting import await_pending, held
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, changing, table, writing


def test_the_files_and_the_published_version_go_too(engine: LiveEngine, fresh: str, root: Path) -> None:
    place = table(fresh)
    for number in (1, 2):
        engine.run(writing(f"SELECT {number} AS id", place, mode="append"))
    engine.change(changing(place, "set_version", value="latest"))
    assert engine.drop(place, dry_run=True)["published"] is True
    assert engine.rows(f"SELECT count(*) FROM lake_published.raw.{fresh}") == [(2,)]
    dropped = engine.drop(place)
    assert (dropped["rows"], dropped["files"], dropped["snapshots"]) == (2, 2, 2)
    assert engine.refused_query(f"SELECT * FROM lake.raw.{fresh}").code == "table-or-view-not-found"
    assert engine.refused_query(f"SELECT * FROM lake_published.raw.{fresh}").code == "never-published"
    assert [file for file in (root / "lake" / "raw" / fresh).rglob("*") if file.is_file()] == []


def test_a_table_with_unfinished_writes_stays(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    place = table(fresh)
    engine.run(writing("SELECT 1 AS id", place))
    sealed = filled.seal(f"{fresh}/other/out", target=place.target)
    refused = engine.start_drop(place, dry_run=True).failed()
    assert (refused.code, f"{fresh}/other/out" in refused.message) == ("table-in-use", True)
    assert engine.start_drop(place).failed().code == "table-in-use"
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 1
    filled.ledger.abandon(sealed, {"code": "given-up", "message": "no", "hint": None})
    engine.drop(place)


def test_a_table_with_unfinished_writes_stays_under_its_new_name_too(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    old, new = table(fresh), table(f"{fresh}_new")
    engine.run(writing("SELECT 1L AS id", old))
    with held(filled.store, fresh):
        pending = engine.start_job(writing("SELECT 2L AS id", old, mode="append"))
        await_pending(filled, fresh, 1)
        engine.ask(f"ALTER TABLE {old.identifier} RENAME TO raw.{new.table}")
        refused = engine.start_drop(new).failed()
        assert (refused.code, f"(to {old.address})" in refused.message) == ("table-in-use", True)
        engine.ask(f"ALTER TABLE {new.identifier} RENAME TO raw.{old.table}")
    pending.done()
    assert engine.value(f"SELECT count(*) FROM {old.identifier}") == 2
    assert engine.drop(old)["dropped"] is True


def test_a_table_whose_files_have_to_stay_is_not_dropped(engine: LiveEngine, fresh: str, root: Path) -> None:
    place = table(fresh)
    engine.run(writing("SELECT 1 AS id", place, mode="append"))
    engine.change(changing(place, "set_version", value="latest"))
    engine.ask(f"ALTER TABLE {place.identifier} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    before = sorted((root / "lake" / "raw" / fresh).rglob("*"))
    for dry_run in (True, False):
        assert engine.start_drop(place, dry_run=dry_run).failed().code == "table-protected"
    assert sorted((root / "lake" / "raw" / fresh).rglob("*")) == before
    assert engine.rows(f"SELECT count(*) FROM lake_published.raw.{fresh}") == [(1,)]
    engine.ask(f"ALTER TABLE {place.identifier} UNSET TBLPROPERTIES ('gc.enabled')")
    assert engine.drop(place)["dropped"] is True
