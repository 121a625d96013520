"""A metastore that is replaced by an older copy: the dataset itself knows what was published."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.formats.files import receipts
from catchment.formats.files.publishing import Directory
from catchment.formats.files.storage import LocalStorage
from catchment.store import open_store
from catchment.store.writes import WriteMode
from tests.ledgers import older_copy
from tests.unit.formats.files.datasets import Dataset, Died, Mortal, Parts, expected

OLD: Parts = {"p=a": ("old a",), "p=b": ("old b",)}
NEW: Parts = {"p=a": ("new a",), "p=c": ("new c",)}
AFTER: dict[WriteMode, Parts] = {
    "append": {"p=a": ("old a", "new a"), "p=b": ("old b",), "p=c": ("new c",)},
    "overwrite": NEW,
    "overwrite-partitions": {**NEW, "p=b": ("old b",)},
}
MAX_CHANGES = 12


@pytest.fixture
def metastore(tmp_path: Path) -> Path:
    return tmp_path / "metastore.db"


@pytest.fixture
def dataset(tmp_path: Path, metastore: Path) -> Iterator[Dataset]:
    with open_store(f"sqlite:///{metastore}") as store:
        made = Dataset(tmp_path / "d", store)
        made.write("r0/j/out", OLD, "append")
        yield made


def with_late(parts: Parts) -> Parts:
    """The rows of an append that came later are there too."""
    return {**parts, "p=a": (*parts["p=a"], "late")}


@pytest.mark.parametrize("mode", AFTER)
def test_a_published_write_that_comes_back_as_sealed_removes_nothing_of_later_ones(
    dataset: Dataset, metastore: Path, mode: WriteMode
) -> None:
    dataset.sealed("r1/j/out", NEW, mode)
    with older_copy(metastore):
        dataset.publish()
        dataset.write("r2/j/out", {"p=a": ("late",)}, "append")
    assert dataset.found("r1/j/out").state == "sealed"
    assert list(dataset.publish().committed) == ["r1/j/out"]
    assert dataset.rows() == expected(with_late(AFTER[mode]))


@pytest.mark.parametrize("mode", AFTER)
def test_killed_before_any_change_and_forgotten_it_is_finished_by_its_first_plan(
    dataset: Dataset, metastore: Path, mode: WriteMode
) -> None:
    """The plan that is made before the first change is the only one, whatever the ledger knows of it."""
    deaths = 0
    for lives in range(1, MAX_CHANGES):
        dataset.write(f"r{lives}/clear/out", OLD, "overwrite")
        dataset.sealed(f"r{lives}/new/out", NEW, mode)
        with older_copy(metastore):
            try:
                dataset.publish(lambda root, lives=lives: Mortal(root, lives))  # type: ignore[misc]
            except Died:
                deaths += 1
            (dataset.root / "p=a" / f"part-late{lives}.txt").write_text("late")
        dataset.publish()
        assert dataset.rows() == expected(with_late(AFTER[mode])), lives
        assert (dataset.found(f"r{lives}/new/out").state, dataset.stages()) == ("committed", [])
    assert 2 < deaths < MAX_CHANGES - 1


@pytest.mark.parametrize("mode", AFTER)
def test_killed_before_any_change_and_run_again_without_a_row_it_is_there_once(
    dataset: Dataset, metastore: Path, mode: WriteMode
) -> None:
    deaths = 0
    for lives in range(1, MAX_CHANGES):
        dataset.write(f"r{lives}/clear/out", OLD, "overwrite")
        with older_copy(metastore):
            dataset.sealed(f"r{lives}/new/out", NEW, mode)
            try:
                dataset.publish(lambda root, lives=lives: Mortal(root, lives))  # type: ignore[misc]
            except Died:
                deaths += 1
        assert dataset.ledger.find(f"r{lives}/new/out") is None
        dataset.write(f"r{lives}/late/out", {"p=a": ("late",)}, "append")
        dataset.again(f"r{lives}/new/out", NEW, mode)
        assert dataset.rows() == expected(with_late(AFTER[mode])), lives
        assert (dataset.found(f"r{lives}/new/out").contents.rows, dataset.stages()) == (2, [])  # type: ignore[union-attr]
    assert 2 < deaths < MAX_CHANGES - 1


def test_an_append_whose_files_were_replaced_since_does_not_come_back(dataset: Dataset, metastore: Path) -> None:
    with older_copy(metastore):
        dataset.write("r1/j/out", NEW, "append")
        dataset.write("r2/j/out", {"p=z": ("all",)}, "overwrite")
    dataset.again("r1/j/out", NEW, "append")
    assert dataset.rows() == expected({"p=z": ("all",)})


def test_a_published_append_loses_no_file_because_another_one_of_its_files_was_replaced(
    dataset: Dataset, metastore: Path
) -> None:
    dataset.sealed("r1/j/out", NEW, "append")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    with older_copy(metastore):
        dataset.publish()
        dataset.write("r2/j/out", {"p=a": ("all",)}, "overwrite-partitions")
    dataset.publish()
    assert dataset.rows() == expected({"p=a": ("all",), "p=b": ("old b",), "p=c": ("new c",)})


def test_a_write_of_which_nothing_was_published_is_written_again(dataset: Dataset, metastore: Path) -> None:
    with older_copy(metastore):
        dataset.sealed("r1/j/out", NEW, "append")
    dataset.again("r1/j/out", NEW, "append")
    assert dataset.rows() == expected(AFTER["append"])


def test_files_of_an_earlier_version_without_plan_and_receipt_replace_nothing(
    dataset: Dataset, metastore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.sealed("r1/j/out", NEW, "overwrite")
    with older_copy(metastore):
        monkeypatch.setattr(LocalStorage, "record", lambda *_: None)
        dataset.publish()
        monkeypatch.undo()
        dataset.write("r2/j/out", {"p=a": ("late",)}, "append")
    dataset.publish()
    assert dataset.rows() == expected(with_late(NEW))


def test_a_stage_that_is_half_published_is_kept_for_whoever_runs_the_write_again(dataset: Dataset) -> None:
    write = dataset.sealed("r1/j/out", NEW, "append")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    stage = write.intent.buffer
    assert Directory(LocalStorage, dataset.ledger).tidy([stage]) == ()
    assert Path(stage).is_dir()


def test_writes_of_which_the_names_are_alike_are_told_apart(dataset: Dataset) -> None:
    dataset.sealed("r1.j/x/out", NEW, "append")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    storage, stage = LocalStorage(str(dataset.root)), dataset.found("r1.j/x/out").intent.buffer
    assert receipts.begun_before(storage, stage, "r1/j.x/out") is None
    begun = receipts.begun_before(storage, stage, "r1.j/x/out")
    assert begun is not None
    assert begun.stage == stage


def test_the_newest_receipts_are_kept(dataset: Dataset) -> None:
    storage = LocalStorage(str(dataset.root))
    for number in (1, 2, 3):
        dataset.write(f"r{number}/j/out", {"p=a": ("x",)}, "append")
    writes = [dataset.found(f"r{number}/j/out") for number in range(4)]
    stage = writes[0].intent.buffer
    for number, write in enumerate(writes):
        path = dataset.root / receipts._receipt(stage, write.write_id)
        os.utime(path, (number, number))
    receipts.remove_old_receipts(storage, stage, keep=2)
    kept = [receipts.receipt_of(storage, stage, write.write_id) for write in writes]
    assert [each and each.write_id for each in kept] == [None, None, "r2/j/out", "r3/j/out"]
