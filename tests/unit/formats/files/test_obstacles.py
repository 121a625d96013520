"""A write of files that something in its directory stands in the way of: it is set aside, and the others go on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from catchment.commit.publisher import Publisher
from catchment.commit.recovery import recover
from catchment.errors import JobError, StorageUnavailable
from catchment.formats.files.publishing import Directory
from catchment.formats.files.storage import LocalStorage, Move
from catchment.store import open_store
from catchment.store.writes import WriteMode
from tests.unit.formats.files.datasets import TARGET, Dataset, Parts, expected

OLD: Parts = {"p=a": ("old a",), "p=b": ("old b",)}
NEW: Parts = {"p=a": ("new a",), "p=b": ("new b",), "p=c": ("new c",)}
LATE: Parts = {"p=z": ("late",)}
SPOILT, LATER = "r1/spoilt/out", "r1/later/out"
MODES: tuple[WriteMode, ...] = ("append", "overwrite", "overwrite-partitions")


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[Dataset]:
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        made = Dataset(tmp_path / "d", store)
        made.write("r0/j/out", OLD, "append")
        yield made


class Refusing(LocalStorage):
    """A disk that does not let anybody put files into one directory."""

    number = errno.EACCES

    def place(self, moves: Sequence[Move]) -> None:
        if any(move.target.startswith("p=c/") for move in moves):
            raise OSError(self.number, os.strerror(self.number), "p=c")
        super().place(moves)


class Full(Refusing):
    number = errno.ENOSPC


def publisher(dataset: Dataset, storage: Callable[[str], LocalStorage] = LocalStorage) -> Publisher[Directory]:
    return Publisher(dataset.store, dataset.ledger, TARGET, "engine/1", Directory(storage, dataset.ledger))


def set_aside(publishing: Publisher[Directory], write_id: str) -> str:
    with pytest.raises(JobError) as failed:
        publishing.publish(write_id)
    assert failed.value.code == "write-set-aside"
    return failed.value.message


@pytest.mark.parametrize("mode", MODES)
def test_a_file_where_a_directory_has_to_be(dataset: Dataset, mode: WriteMode) -> None:
    """Found before anything changes: what was there stays, the next write goes on, and a person has two ways."""
    in_the_way = dataset.root / "p=c"
    in_the_way.write_text("mine")
    dataset.sealed(SPOILT, NEW, mode)
    dataset.sealed(LATER, LATE, "append")
    publishing = publisher(dataset)
    assert "p=c" in set_aside(publishing, SPOILT)
    assert publishing.publish(LATER).state == "committed"
    assert dataset.rows() == expected({**OLD, **LATE, "": ("mine",)})
    in_the_way.unlink()
    dataset.store.decisions.retry(SPOILT)
    assert publishing.publish(SPOILT).state == "committed"
    added = {"p=a": ("old a", "new a"), "p=b": ("old b", "new b"), "p=c": ("new c",)}
    after = {"append": {**added, **LATE}, "overwrite": NEW, "overwrite-partitions": {**NEW, **LATE}}[mode]
    assert dataset.rows() == expected(after)
    assert dataset.stages() == []


@pytest.mark.parametrize("mode", MODES)
def test_half_published_it_is_finished_by_its_plan(dataset: Dataset, mode: WriteMode) -> None:
    dataset.sealed(SPOILT, NEW, mode)
    dataset.sealed(LATER, LATE, "append")
    publishing = publisher(dataset, Refusing)
    assert "2 of its 3 files are published" in set_aside(publishing, SPOILT)
    assert publishing.publish(LATER).state == "committed"
    dataset.store.decisions.retry(SPOILT)
    assert publisher(dataset).publish(SPOILT).state == "committed"
    added = {"p=a": ("old a", "new a"), "p=b": ("old b", "new b"), "p=c": ("new c",)}
    assert dataset.rows() == expected({**(added if mode == "append" else NEW), **LATE})
    assert dataset.stages() == []


@pytest.mark.parametrize("mode", MODES)
def test_half_published_and_dropped_an_append_is_undone(dataset: Dataset, mode: WriteMode) -> None:
    """Otherwise its job, in a new run, would add its rows a second time. What an overwrite removed is gone."""
    stage = dataset.sealed(SPOILT, NEW, mode).intent.buffer
    dataset.sealed(LATER, LATE, "append")
    publishing = publisher(dataset, Refusing)
    set_aside(publishing, SPOILT)
    assert publishing.give_up_lost() == ()
    assert dataset.stages() != []  # nobody has dropped it yet
    dataset.store.decisions.drop(SPOILT)
    done = recover(publisher(dataset), publishing.destination.tidy)
    assert (done.removed, done.refused) == ((stage,), ())
    replaced = {"p=a": ("new a",), "p=b": ("new b",)}
    assert dataset.rows() == expected({**(OLD if mode == "append" else replaced), **LATE})
    assert dataset.stages() == []


def test_a_stage_that_cannot_be_removed_is_no_reason_to_give_up_what_is_published(dataset: Dataset) -> None:
    class Locked(LocalStorage):
        def clear(self, directory: str) -> None:
            raise PermissionError(errno.EACCES, "not yours", directory)

    for write_id in (SPOILT, LATER):
        dataset.sealed(write_id, NEW, "overwrite")
    assert [publisher(dataset, Locked).publish(write_id).state for write_id in (SPOILT, LATER)] == ["committed"] * 2
    assert dataset.rows() == expected(NEW)


def test_a_disk_that_is_full_is_not_the_fault_of_a_write(dataset: Dataset) -> None:
    dataset.sealed(SPOILT, NEW, "append")
    with pytest.raises(StorageUnavailable) as failed:
        publisher(dataset, Full).publish(SPOILT)
    assert failed.value.code == "publish-interrupted"
    assert publisher(dataset).publish(SPOILT).state == "committed"


def test_a_plan_that_cannot_be_read(dataset: Dataset) -> None:
    """It was cut off, as by a power failure: the write is set aside, and its stage keeps nobody from anything."""
    stage = dataset.sealed(SPOILT, NEW, "append").intent.buffer
    Path(stage, ".plan").write_text('{"write_id": ')
    dataset.sealed(LATER, LATE, "append")
    publishing = publisher(dataset)
    set_aside(publishing, SPOILT)
    assert publishing.publish(LATER).state == "committed"
    dataset.store.decisions.drop(SPOILT)
    assert publishing.give_up_lost() == ()
    assert dataset.rows() == expected({**OLD, **LATE})
