"""The journal of plain files, killed before every single change that it makes."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from catchment.commit.linger import AT_ONCE
from catchment.commit.publisher import Publisher
from catchment.commit.writer import recover_what_is_there
from catchment.errors import LeaseLost, StorageUnavailable
from catchment.formats.files.publishing import Directory
from catchment.formats.files.storage import LocalStorage
from catchment.store import open_store
from catchment.store.ledger import WritesMoved
from catchment.store.writes import Entry, WriteMode
from tests.unit.formats.files.datasets import TARGET, Dataset, Died, Mortal, Parts, expected

OLD: Parts = {"p=a": ("old a1", "old a2"), "p=b b": ("old b",), "p=c": ("old c",)}
NEW: Parts = {"p=a": ("new a",), "p=b b": ("new b1", "new b2"), "p=d/q=é": ("new d",)}
AFTER: dict[WriteMode, Parts] = {
    "append": {**OLD, **NEW, "p=a": ("old a1", "old a2", "new a"), "p=b b": ("old b", "new b1", "new b2")},
    "overwrite": NEW,
    "overwrite-partitions": {**OLD, **NEW},
}
MAX_CHANGES = 20


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[Dataset]:
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        yield Dataset(tmp_path / "d", store)


@pytest.mark.parametrize("mode", AFTER)
def test_each_mode_changes_what_it_says(dataset: Dataset, mode: WriteMode) -> None:
    dataset.write("r1/j/out", OLD, "append")
    assert dataset.rows() == expected(OLD)
    dataset.write("r2/j/out", NEW, mode)
    assert dataset.rows() == expected(AFTER[mode])
    assert dataset.stages() == []
    assert [file.name for file in dataset.root.rglob("*.crc")] == []


def test_tools_that_look_into_hidden_directories_see_no_staged_row(dataset: Dataset) -> None:
    """DuckDB's patterns match names that begin with a dot."""

    def seen() -> list[str]:
        found = duckdb.sql(f"SELECT content FROM read_text('{dataset.root}/**/*.txt') ORDER BY ALL").fetchall()
        return [content for (content,) in found]

    dataset.write("r1/j/out", {"p=a": ("old",)}, "append")
    dataset.sealed("r2/j/out", {"p=a": ("one", "two")}, "append")
    assert seen() == ["old"]
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    assert seen() == ["old", "one"]
    dataset.publish()
    assert seen() == ["old", "one", "two"]


def test_a_stage_that_an_earlier_version_left_inside_the_dataset_is_published(dataset: Dataset) -> None:
    dataset.write("r1/j/out", OLD, "append")
    inside = f"{dataset.root}/.catchment-stage/r2.j.out.0"
    dataset.sealed("r2/j/out", NEW, "overwrite", stage=inside)
    dataset.publish()
    assert dataset.rows() == expected(NEW)
    assert not Path(inside).exists()


def test_a_write_without_rows_leaves_a_directory_to_read(dataset: Dataset) -> None:
    dataset.write("r1/j/out", {}, "append")
    assert dataset.root.is_dir()


@pytest.mark.parametrize("mode", AFTER)
def test_killed_before_any_change_it_is_rolled_forward_and_no_partition_is_ever_without_its_rows(
    dataset: Dataset, mode: WriteMode
) -> None:
    deaths = 0
    for lives in range(MAX_CHANGES):
        shutil.rmtree(dataset.root, ignore_errors=True)
        dataset.write(f"r{lives}/old/out", OLD, "append")
        dataset.sealed(f"r{lives}/new/out", NEW, mode)
        try:
            dataset.publish(lambda root, lives=lives: Mortal(root, lives))  # type: ignore[misc]
        except Died:
            deaths += 1
            seen = dataset.rows()
            for part in OLD:  # whole in the old state or in the new one, perhaps in both
                both = [expected({part: parts.get(part, ())}).get(part) for parts in (OLD, AFTER[mode])]
                assert any(rows is None or rows <= seen.get(part, rows - rows) for rows in both), (lives, part)
            dataset.publish()
        assert dataset.rows() == expected(AFTER[mode]), lives
        assert (dataset.found(f"r{lives}/new/out").state, dataset.stages()) == ("committed", [])
    assert 5 < deaths < MAX_CHANGES  # the last round got through


def test_a_second_kill_while_rolling_forward(dataset: Dataset) -> None:
    dataset.write("r1/j/out", OLD, "append")
    dataset.sealed("r2/j/out", NEW, "overwrite")
    for _ in range(MAX_CHANGES):
        try:
            dataset.publish(lambda root: Mortal(root, 1))
        except Died:
            continue
    dataset.publish()
    assert dataset.rows() == expected(NEW)


def test_what_others_put_there_after_the_plan_stays(dataset: Dataset) -> None:
    """A roll-forward removes exactly the files that the ledger lists, not what it finds by then."""
    dataset.write("r1/j/out", OLD, "append")
    dataset.sealed("r2/j/out", NEW, "overwrite")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 0))
    (dataset.root / "p=a" / "foreign.txt").write_text("by hand")
    dataset.publish()
    assert dataset.rows() == expected({**NEW, "p=a": ("new a", "by hand")})


def test_hidden_files_are_nobodys(dataset: Dataset) -> None:
    dataset.write("r1/j/out", OLD, "append")
    for name in ("_SUCCESS", ".hidden", "_x/y"):
        (dataset.root / name).parent.mkdir(exist_ok=True)
        (dataset.root / name).write_text("mine")
    other = dataset.sealed("r2/j/out", NEW, "append")
    waiting = dataset.sealed("r3/j/out", {"p=z": ("z",)}, "overwrite")
    dataset.publish()
    dataset.publish()
    assert dataset.rows() == expected({"p=z": ("z",)})
    assert [(dataset.root / name).read_text() for name in ("_SUCCESS", ".hidden", "_x/y")] == ["mine"] * 3
    assert [dataset.found(write.write_id).state for write in (other, waiting)] == ["committed"] * 2


def test_of_two_that_replace_one_partition_the_later_seal_is_seen_whole(dataset: Dataset) -> None:
    dataset.write("r0/j/out", {"p=a": ("old", "old")}, "append")
    dataset.sealed("r1/j/out", {"p=a": ("one",), "p=b": ("one",)}, "overwrite-partitions")
    dataset.sealed("r2/j/out", {"p=a": ("two", "two")}, "overwrite-partitions")
    dataset.publish()
    dataset.publish()
    assert dataset.rows() == expected({"p=a": ("two", "two"), "p=b": ("one",)})


def test_a_publisher_that_slept_touches_nothing_once_others_went_on(dataset: Dataset) -> None:
    """It read the write, slept, and wakes up when its write and a later one are published."""
    dataset.write("r0/j/out", OLD, "append")
    seen = dataset.sealed("r1/j/out", NEW, "overwrite")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    tried = dataset.found("r1/j/out")
    dataset.publish()
    dataset.write("r2/j/out", {"p=a": ("last",)}, "overwrite-partitions")
    before = dataset.rows()
    sleeper = Directory(LocalStorage, dataset.ledger)
    for stale in (seen, tried):
        assert list(sleeper.consolidate([stale], lambda: None).committed) == ["r1/j/out"]
    assert dataset.rows() == before
    assert dataset.found("r1/j/out").state == "committed"


def test_who_lost_the_lease_stops_before_the_next_directory(dataset: Dataset) -> None:
    dataset.write("r0/j/out", OLD, "append")
    write = dataset.sealed("r1/j/out", NEW, "overwrite")

    def lost() -> None:
        raise LeaseLost("taken over")

    with pytest.raises(LeaseLost):
        Directory(LocalStorage, dataset.ledger).consolidate([write], lost)
    assert dataset.rows() == expected(OLD)
    dataset.publish()
    assert dataset.rows() == expected(NEW)


def test_two_that_roll_forward_at_once_share_the_work(dataset: Dataset) -> None:
    """Whoever finds a file moved by the other one looks again."""
    dataset.write("r0/j/out", OLD, "append")
    dataset.sealed("r1/j/out", NEW, "overwrite")

    class Raced(LocalStorage):
        def place(self, moves: object) -> None:
            if dataset.ledger.pending("dataos://drop:none/d", limit=1):
                dataset.publish()
            super().place(moves)  # type: ignore[arg-type]

    outcome = dataset.publish(Raced)
    assert (list(outcome.committed), outcome.refused) == (["r1/j/out"], {})
    assert dataset.rows() == expected(NEW)


def test_a_stage_that_lost_files_is_refused_and_the_old_data_stays(dataset: Dataset) -> None:
    dataset.write("r0/j/out", OLD, "append")
    write = dataset.sealed("r1/j/out", NEW, "overwrite")
    next(Path(write.intent.buffer).rglob("part-*")).unlink()
    outcome = dataset.publish()
    assert outcome.refused["r1/j/out"].code == "stage-damaged"
    assert "nothing was published" in outcome.refused["r1/j/out"].message
    assert dataset.rows() == expected(OLD)
    assert dataset.found("r1/j/out").state == "abandoned"


def _half_published(dataset: Dataset, write_id: str, mode: WriteMode) -> Entry:
    """A write whose publisher was killed after its first file, and whose stage then lost one of those to come."""
    write = dataset.sealed(write_id, {"p=a": ("new a",), "p=e": ("new e1", "new e2")}, mode)
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 2 if mode == "append" else 3))
    next(Path(write.intent.buffer).rglob("part-*")).unlink()
    return dataset.found(write_id)


def test_an_append_that_lost_files_midway_is_taken_back_so_that_it_can_be_run_again(dataset: Dataset) -> None:
    dataset.write("r0/j/out", OLD, "append")
    _half_published(dataset, "r1/j/out", "append")
    assert dataset.rows()["p=a"]["new a"] == 1
    refused = dataset.publish().refused["r1/j/out"]
    assert (refused.code, "were removed again" in refused.message) == ("stage-damaged", True)
    assert dataset.rows() == expected(OLD)
    assert not (dataset.root / "p=e").exists()


def test_an_overwrite_that_lost_files_midway_says_what_is_published(dataset: Dataset) -> None:
    """The old files of those partitions are gone: to take the new ones away would leave nothing."""
    dataset.write("r0/j/out", OLD, "append")
    _half_published(dataset, "r1/j/out", "overwrite-partitions")
    refused = dataset.publish().refused["r1/j/out"]
    assert refused.code == "stage-damaged"
    assert "these of its files are published: p=a/part-00000-r1.j.out" in refused.message
    assert dataset.rows()["p=a"]["new a"] == 1


def test_a_publisher_that_slept_takes_nothing_back_that_others_have_committed(dataset: Dataset) -> None:
    """It finds files gone that a later write has replaced; those that are left are live."""
    dataset.sealed("r1/j/out", {"p=a": ("one",), "p=b": ("two",)}, "append")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    stale = dataset.found("r1/j/out")
    dataset.publish()
    dataset.write("r2/j/out", {"p=a": ("three",)}, "overwrite-partitions")
    Directory(LocalStorage, dataset.ledger).consolidate([stale], lambda: None)
    assert dataset.rows() == expected({"p=a": ("three",), "p=b": ("two",)})


def test_a_file_that_was_cut_short_counts_as_lost(dataset: Dataset) -> None:
    write = dataset.sealed("r1/j/out", NEW, "append")
    next(Path(write.intent.buffer).rglob("part-*")).write_text("x")
    assert dataset.publish().refused["r1/j/out"].code == "stage-damaged"


def test_a_store_that_fails_leaves_the_write_sealed(dataset: Dataset) -> None:
    class Failing(LocalStorage):
        def remove(self, files: object) -> None:
            raise OSError(errno.EIO, "the disk does not answer")

    dataset.write("r0/j/out", OLD, "append")
    dataset.sealed("r1/j/out", NEW, "overwrite")
    with pytest.raises(StorageUnavailable) as caught:
        dataset.publish(Failing)
    assert caught.value.code == "publish-interrupted"
    assert dataset.found("r1/j/out").state == "sealed"
    dataset.publish()
    assert dataset.rows() == expected(NEW)


def test_stages_are_tidied_and_buffers_of_tables_are_not(dataset: Dataset, tmp_path: Path) -> None:
    stage = dataset.sealed("r1/j/out", NEW, "append").intent.buffer
    table = tmp_path / "t" / "data" / "r1.j.out.0"
    table.mkdir(parents=True)
    assert Directory(LocalStorage, dataset.ledger).tidy([stage, str(table)]) == (stage,)
    assert (dataset.stages(), table.is_dir()) == ([], True)


class Locked(LocalStorage):
    """A disk that does not let go of one stage."""

    def clear(self, directory: str) -> None:
        if "r1.j.out" in directory:
            raise PermissionError(13, "not yours", directory)
        super().clear(directory)


class Heard:
    """Whoever asked for a write, with all that it was told."""

    linger = AT_ONCE

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def check(self) -> None:
        """Nobody wants it to stop."""

    def wait_to_seal(self) -> None:
        """It is always its turn."""


def test_who_meets_a_stage_that_cannot_be_removed_goes_on_and_it_is_not_forgotten(dataset: Dataset) -> None:
    one, other = (dataset.sealed(f"r{number}/j/out", NEW, "append") for number in (1, 2))
    for write in (one, other):
        dataset.ledger.abandon(write, {"code": "engine-lost"})
    heard, parts = Heard(), (dataset.store, dataset.ledger, TARGET, "engine/2")
    recover_what_is_there(Publisher(*parts, Directory(Locked, dataset.ledger)), heard)
    assert dataset.ledger.leftovers(TARGET) == (("r1/j/out", one.intent.buffer),)
    assert [one.intent.buffer in warning for warning in heard.warnings] == [True]
    recover_what_is_there(Publisher(*parts, Directory(LocalStorage, dataset.ledger)), heard)
    assert (dataset.ledger.leftovers(TARGET), dataset.stages(), len(heard.warnings)) == ((), [], 1)


def test_a_directory_that_a_disk_does_not_remove_is_an_error(tmp_path: Path) -> None:
    """One that is gone already is what was wanted."""
    storage = LocalStorage(str(tmp_path))
    storage.clear("nothing-here")
    (tmp_path / "no-directory").write_text("")
    with pytest.raises(NotADirectoryError):
        storage.clear("no-directory")


def test_an_empty_overwrite_empties_and_an_empty_dynamic_one_changes_nothing(dataset: Dataset) -> None:
    dataset.write("r0/j/out", OLD, "append")
    dataset.write("r1/j/out", {}, "overwrite-partitions")
    assert dataset.rows() == expected(OLD)
    dataset.write("r2/j/out", {}, "overwrite")
    assert dataset.rows() == {}
    assert dataset.root.is_dir()


def test_a_plan_is_made_once(dataset: Dataset) -> None:
    write = dataset.sealed("r1/j/out", NEW, "append")
    assert write.contents is not None
    dataset.ledger.mark_planned(write, write.contents)
    with pytest.raises(WritesMoved):
        dataset.ledger.mark_planned(write, write.contents)
    again = replace(write, tried=True)
    dataset.ledger.mark_planned(again, write.contents)
    dataset.publish()
    with pytest.raises(WritesMoved):
        dataset.ledger.mark_planned(again, write.contents)
