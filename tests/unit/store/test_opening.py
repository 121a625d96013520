"""Opening a metastore in an SQLite file: made if missing, refused where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from catchment.errors import CatchmentError, MetastoreUnavailable, RequestError, SetupError
from catchment.store import Store, open_store, postgresql
from tests.disks import fill, mounting


def test_a_fresh_store_is_made_with_its_directory(url: str, tmp_path: Path) -> None:
    open_store(url).close()
    assert (tmp_path / "home" / "metastore.db").exists()


def test_sqlite_is_set_up_for_several_processes(store: Store) -> None:
    with store.database.reading() as connection:
        pragma = {name: connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "busy_timeout")}
        assert pragma == {"journal_mode": "wal", "busy_timeout": 60_000}
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1


def test_only_what_a_power_cut_may_take_back_does_not_wait_for_the_disk(store: Store) -> None:
    for open_transaction, waits in ((store.database.fleeting, 1), (store.database.writing, 2)) * 2:
        with open_transaction() as connection:
            assert connection.scalar(text("PRAGMA synchronous")) == waits


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metastore.db").write_text("this is not a database, and it is longer than the header of one. " * 40)
    with pytest.raises(SetupError) as caught:
        open_store(f"sqlite:///{tmp_path}/metastore.db")
    assert caught.value.code == "metastore-damaged"


def test_a_place_where_nothing_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError) as caught:
        open_store(f"sqlite:///{tmp_path}/file/metastore.db")
    assert caught.value.code == "metastore-unreadable"


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatchmentError) as caught:
        open_store(f"sqlite:///{tmp_path}")
    assert caught.value.code in {"metastore-unreadable", "metastore-unavailable"}  # Python 3.10 does not say which


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("no url", "bad-metastore"),
        ("postgresql://u:hunter2@h:hunter2/db", "bad-metastore"),
        ("mysql://u:hunter2@h/db", "unsupported-metastore"),
        ("postgresql+psycopg2://u:hunter2@h/db", "unsupported-metastore"),
    ],
)
def test_other_addresses_are_refused_without_a_word_about_the_password(url: str, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        open_store(url)
    assert caught.value.code == code
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_a_full_disk_is_called_a_full_disk(tmp_path: Path) -> None:
    """And what was recorded before is there when there is space again."""
    with mounting() as mount:
        place = mount(tmp_path / "disk", "size=2m")
        with open_store(f"sqlite:///{place}/metastore.db") as store:
            filled = fill(place)
            for step in (lambda: store.leases.acquire("a", "b", 60.0), lambda: open_store(f"sqlite:///{place}/new.db")):
                with pytest.raises(MetastoreUnavailable) as caught:
                    step()
                assert caught.value.code == "disk-full"
                assert str(place) in caught.value.message
            filled.unlink()
            assert store.leases.acquire("a", "b", 60.0).owner == "b"


def test_a_server_whose_disk_is_full_is_not_called_silent() -> None:
    told = OperationalError("INSERT", {}, psycopg.errors.DiskFull("could not extend file: No space left on device"))
    assert (error := postgresql.explain(told, "postgresql://server/db")) is not None
    assert (error.code, type(error)) == ("disk-full", MetastoreUnavailable)
