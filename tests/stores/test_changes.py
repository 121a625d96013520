"""Changes of tables, and what readers see of them, on every kind of lake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.concurrency.invariants import ids
from tests.servers.s3 import SECRET
from tests.servers.wire import Wire
from tests.spark.lake import changing, table
from tests.stores.lakes import Lake, appending


@pytest.mark.slow
@pytest.mark.exhaustive
def test_versions_are_published_in_the_database_of_the_catalog(on_s3: Lake, fresh: str) -> None:
    """From two engines, to and fro; the pointer is in PostgreSQL, the files are on S3."""
    for number in range(3):
        on_s3.here.run(appending(fresh, 10 * number, f"job-{number}"))
    engines, latest = (on_s3.here, on_s3.there), changing(table(fresh), "set_version", value="latest")
    assert engines[0].change(latest)["before"] is None
    moves = [replace(latest, arguments={"value": value}) for value in ("v2", "v3", "v4", "v2", "v3")]
    for number, move in enumerate(moves):
        assert engines[number % 2].change(move)["changed"]
    shown = [row[0] for row in on_s3.there.rows(f"SELECT id FROM lake_published.raw.{fresh} ORDER BY id")]
    for sql in ("DELETE FROM {0}", "INSERT INTO IDENTIFIER('{0}') SELECT * FROM {0}", "DROP TABLE {0} PURGE"):
        refused = on_s3.there.refused_query(sql.format(f"lake_published.raw.{fresh}"), write=True)
        assert refused.code == "published-read-only", refused
    assert (shown, ids(on_s3.here, fresh)) == (list(range(20)), list(range(30)))
    assert ids(on_s3.there, fresh, "lake_published") == shown
    listed = on_s3.there.inspect("versions", table(fresh))["versions"]
    assert [entry["published"] for entry in listed] == [False, False, True, False]
    for engine in engines:
        assert [log.name for log in engine.log_dir.iterdir() if SECRET in log.read_text()] == []


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_table_is_changed_beside_its_writers(lake: Lake, fresh: str) -> None:
    lake.here.run(appending(fresh, 0, "early"))
    pending = [lake.there.start_job(appending(fresh, 10 * number, f"job-{number}")) for number in range(1, 4)]
    for name in ("a", "b"):
        assert lake.here.change(changing(table(fresh), "properties_set", properties={name: "1"}))["changed"]
    for each in pending:
        each.done()
    assert lake.here.change(changing(table(fresh), "column_add", column="word", type="string"))["changed"]
    assert lake.there.rows(f"SELECT count(*), count(word) FROM lake.raw.{fresh}") == [(40, 0)]
    assert {"a", "b"} <= set(lake.there.inspect("table", table(fresh))["properties"])
    unpublished = replace(changing(table(fresh), "set_version", value="latest"), published=None)
    assert lake.here.start_change(unpublished).failed().code == "no-published-catalog"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_change_whose_answer_is_lost_on_the_wire_is_made_once(on_s3: Lake, wire: Wire, fresh: str) -> None:
    there = table(fresh, "wired")
    for number in range(2):
        on_s3.here.run(appending(fresh, 10 * number, f"job-{number}", "wired"))
    on_s3.here.change(changing(there, "set_version", value="v2"))
    wire.lose_answer_to(b"UPDATE iceberg_tables")
    on_s3.here.change(changing(there, "set_version", value="v3"))
    assert wire.has_lost
    assert ids(on_s3.there, fresh, "wired_published") == list(range(20))
    with on_s3.ledger() as filled:
        record = filled.store.publications.of_table(there.address)
    assert len(record) == 2
    wire.lose_answer_to(b"UPDATE iceberg_tables")
    assert on_s3.here.change(changing(there, "column_rename", column="id", to="number"))["changed"]
    assert wire.has_lost
    assert on_s3.there.value(f"SELECT count(number) FROM wired.raw.{fresh}") == 20
    assert len(on_s3.there.inspect("versions", there)["versions"]) == 4
