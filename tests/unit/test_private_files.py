from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment import private_files
from catchment.store import open_store


@pytest.fixture(autouse=True)
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_directories_are_private_however_loose_the_umask_is(tmp_path: Path) -> None:
    private_files.make_directory(tmp_path / "a" / "b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)


def test_what_exists_is_tightened_and_what_is_above_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "log").write_text("kept")
    private_files.make_directory(tmp_path / "a" / "b")
    private_files.make_file(tmp_path / "a" / "b" / "log")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o777, 0o700)
    assert mode(tmp_path / "a" / "b" / "log") == 0o600
    assert (tmp_path / "a" / "b" / "log").read_text() == "kept"


def test_the_metastore_and_the_files_beside_it_are_private(tmp_path: Path) -> None:
    file = tmp_path / "there" / "metastore.db"
    with open_store(f"sqlite:///{file}"):
        found = {each.name: mode(each) for each in (file.parent).iterdir()}
        assert "metastore.db-wal" in found
        assert set(found.values()) == {0o600}
        assert mode(file.parent) == 0o700
        for each in file.parent.iterdir():
            each.chmod(0o666)
        open_store(f"sqlite:///{file}").close()
        assert {mode(each) for each in file.parent.iterdir()} == {0o600}


def test_the_directory_of_a_metastore_elsewhere_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    open_store(f"sqlite:///{tmp_path}/shared/metastore.db").close()
    assert (mode(tmp_path / "shared"), mode(tmp_path / "shared" / "metastore.db")) == (0o777, 0o600)
