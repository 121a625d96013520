"""Rows of catalogs in SQL databases; a PostgreSQL is asked in the tests of stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from catchment.formats.jdbc_catalogs import select
from catchment.formats.metadata_reading import NeedsEngine


def test_rows_with_these_values(tmp_path: Path) -> None:
    place = tmp_path / "a #b.db"
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("CREATE TABLE things (name TEXT, size INT)")
        connection.execute("INSERT INTO things VALUES ('one', 1), ('two', 2)")
    given = {"uri": f"jdbc:sqlite:{place}"}
    assert select(given, "things", {"name": "two"}) == [{"name": "two", "size": 2}]
    assert select(given, "things", {"name": "three"}) == []
    assert select(given, "nothing", {"name": "two"}) == []


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert select({"uri": f"jdbc:sqlite:{tmp_path}/none/catalog.db"}, "things", {"name": "two"}) == []
    assert not (tmp_path / "none").exists()


def test_what_an_engine_has_to_read(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, and never was one " * 100)
    server = "jdbc:postgresql://127.0.0.1:1/lake"
    for given in (
        {"uri": f"jdbc:sqlite:{tmp_path}/text.db"},
        {"uri": "jdbc:sqlite::memory:"},
        {"uri": "jdbc:sqlite:/a.db?mode=ro"},
        {"uri": "jdbc:mysql://here/lake"},
        {"uri": server},
        {"uri": server, "jdbc.user": "me", "jdbc.gssEncMode": "require"},
        {"uri": f"{server}?user=me&targetServerType=primary"},
        {"uri": "jdbc:postgresql://one:1,two:2/lake", "jdbc.user": "me"},
        {"uri": server, "jdbc.user": "nobody listens there"},
    ):
        with pytest.raises(NeedsEngine):
            select(given, "things", {"name": "two"})
