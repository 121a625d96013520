"""Compaction of plain files: which files take part, and a swap that is killed before every single change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.formats.files.compaction import (
    Limits,
    codec_of,
    columns_of,
    groups,
)
from catchment.formats.files.file_health import values_of, visible
from catchment.formats.files.storage import FileStatus, LocalStorage
from catchment.plan.model import Dataset as Place
from catchment.plan.model import Partition
from catchment.store import open_store
from catchment.store.writes import WriteMode
from tests.ledgers import older_copy
from tests.unit.formats.files.datasets import Dataset, Died, Mortal, expected

ROWS = {"p=a": ("1", "2", "3"), "p=b": ("4",)}
CHANGES = 6
"""One file comes, three go, and the stage is cleared."""


@pytest.fixture
def metastore(tmp_path: Path) -> Path:
    return tmp_path / "metastore.db"


@pytest.fixture
def dataset(tmp_path: Path, metastore: Path) -> Iterator[Dataset]:
    with open_store(f"sqlite:///{metastore}") as store:
        made = Dataset(tmp_path / "d", store)
        for number, row in enumerate(ROWS["p=a"]):
            made.write(f"r{number}/j/out", {"p=a": (row,)}, "append")
        made.write("r9/j/out", {"p=b": ROWS["p=b"]}, "append")
        yield made


def files(dataset: Dataset, part: str) -> int:
    return sum(1 for path in (dataset.root / part).iterdir() if not path.name.startswith("."))


def test_the_files_become_one_and_the_rows_stay(dataset: Dataset) -> None:
    dataset.compacted("c/rewrite_dataset/files", "p=a")
    assert list(dataset.publish().committed) == ["c/rewrite_dataset/files"]
    assert dataset.rows() == expected(ROWS)
    assert (files(dataset, "p=a"), dataset.stages()) == (1, [])


@pytest.mark.parametrize("lives", range(CHANGES + 1))
def test_killed_before_every_change_nothing_is_lost_and_whoever_comes_next_finishes(
    dataset: Dataset, lives: int
) -> None:
    dataset.compacted("c/rewrite_dataset/files", "p=a")
    try:
        dataset.publish(lambda root: Mortal(root, lives))
    except Died:
        seen = dataset.rows()
        assert set(seen["p=a"]) == {"1", "2", "3"}
        assert max(seen["p=a"].values()) <= 2  # plain files may for a while show both
    dataset.write("r8/j/out", {"p=a": ("late",)}, "append")  # whoever comes next
    dataset.publish()
    assert dataset.rows() == expected({**ROWS, "p=a": ("1", "2", "3", "late")})
    assert (files(dataset, "p=a"), dataset.stages()) == (2, [])


def test_what_is_appended_meanwhile_stays(dataset: Dataset) -> None:
    dataset.sealed("r8/j/out", {"p=a": ("late",)}, "append")
    dataset.compacted("c/rewrite_dataset/files", "p=a")
    dataset.publish()
    dataset.publish()
    assert dataset.rows() == expected({**ROWS, "p=a": ("1", "2", "3", "late")})


@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions"])
def test_what_was_replaced_meanwhile_does_not_come_back(dataset: Dataset, mode: WriteMode) -> None:
    dataset.sealed("r8/j/out", {"p=a": ("new",)}, mode)
    dataset.compacted("c/rewrite_dataset/files", "p=a")
    dataset.publish()
    refused = dataset.publish().refused
    assert refused["c/rewrite_dataset/files"].code == "maintenance-overtaken"
    kept = {"p=a": ("new",)} if mode == "overwrite" else {"p=a": ("new",), "p=b": ROWS["p=b"]}
    assert dataset.rows() == expected(kept)


def test_an_overwrite_that_comes_later_replaces_the_compacted_files(dataset: Dataset) -> None:
    dataset.compacted("c/rewrite_dataset/files", "p=a")
    dataset.sealed("r8/j/out", {"p=a": ("new",)}, "overwrite-partitions")
    dataset.publish()
    dataset.publish()
    assert dataset.rows() == expected({**ROWS, "p=a": ("new",)})


@pytest.mark.parametrize("lives", range(CHANGES))
def test_a_compaction_whose_stage_is_lost_leaves_every_row(dataset: Dataset, lives: int) -> None:
    sealed = dataset.compacted("c/rewrite_dataset/files", "p=a")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, lives))
    LocalStorage(str(dataset.root)).clear(f"../.catchment-stage/.d/{Path(sealed.intent.buffer).name}")
    dataset.publish()
    assert dataset.rows() == expected(ROWS)


def test_nothing_is_undone_once_an_old_file_is_gone(dataset: Dataset) -> None:
    sealed = dataset.compacted("c/rewrite_dataset/files", "p=a", into=2)
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 3))  # two files have come, and one has gone
    [first, _] = [path for path in sorted((dataset.root / "p=a").glob("*")) if "rewrite_dataset" in path.name]
    first.unlink()  # by another program, as is the stage
    LocalStorage(str(dataset.root)).clear(f"../.catchment-stage/.d/{Path(sealed.intent.buffer).name}")
    assert dataset.publish().refused["c/rewrite_dataset/files"].code == "stage-damaged"
    assert dataset.rows()["p=a"] == Counter(["2", "2", "3"])


def test_a_metastore_of_yesterday_compacts_nothing_twice(dataset: Dataset, metastore: Path) -> None:
    dataset.compacted("c/rewrite_dataset/files", "p=a")
    with older_copy(metastore):
        dataset.publish()
        dataset.write("r8/j/out", {"p=a": ("late",)}, "append")
    assert dataset.found("c/rewrite_dataset/files").state == "sealed"
    dataset.publish()
    assert dataset.rows() == expected({**ROWS, "p=a": ("1", "2", "3", "late")})


def test_files_of_a_write_that_is_half_published_take_no_part(dataset: Dataset) -> None:
    dataset.sealed("r8/j/out", {"p=a": ("half", "other half")}, "append")
    with pytest.raises(Died):
        dataset.publish(lambda root: Mortal(root, 1))
    storage = LocalStorage(str(dataset.root))
    place = Place("dataos://drop:none/d", "drop", "parquet", path=str(dataset.root))
    assert len(storage.sizes(["p=a"])) == 4
    assert Counter(path.split("/")[0] for path in visible(storage, place)) == {"p=a": 3, "p=b": 1}
    dataset.publish()
    assert len(visible(storage, place)) == 6


def test_what_vanishes_while_it_is_listed_hides_nothing_else(
    dataset: Dataset,
) -> None:
    """A compaction looks without the lease, while others publish and clean up."""
    (dataset.root.parent / "stages").mkdir()
    for name in ("gone", "kept"):
        (dataset.root.parent / "stages" / name).symlink_to(dataset.root if name == "kept" else "nowhere")
    (dataset.root / "p=a" / "part-gone.txt").symlink_to("nowhere")  # as if removed between the two looks
    storage = LocalStorage(str(dataset.root))
    assert storage.newest("../stages") == ["kept"]
    assert len(storage.sizes(["p=a"])) == 3


def statuses(*sizes: int, part: str = "p=a") -> dict[str, FileStatus]:
    return {f"{part}/part-{number}.parquet": FileStatus(size, 0.0) for number, size in enumerate(sizes)}


def test_only_small_files_and_enough_of_them_are_worth_it() -> None:
    limits = Limits(target=100, small=80, least=3)
    assert groups(statuses(10, 10, 90), limits, ()) == []
    [group] = groups(statuses(10, 10, 90, 10), limits, ())
    assert (len(group.files), group.bytes, group.expected(100)) == (3, 30, 1)
    assert groups(statuses(70, 70, 70), limits, ()) == []  # no two of them fit into one
    assert [list(map(len, group.bins(25))) for group in groups(statuses(10, 10, 10), limits, ())] == [[2, 1]]


def test_everything_is_rewritten_if_asked_for() -> None:
    limits = Limits.of({"rewrite-all": "true", "target-file-size-bytes": "100"})
    [group] = groups(statuses(40, 40), limits, ())
    assert group.expected(limits.target) == 1
    assert groups(statuses(90), limits, ()) == []


def test_only_the_directories_that_are_asked_for() -> None:
    every = {**statuses(1, 1, part="p=a"), **statuses(1, 1, part="p=__HIVE_DEFAULT_PARTITION__")}
    limits = Limits(least=2)
    [group] = groups(every, limits, [Partition({"p": None})])
    assert group.directory == "p=__HIVE_DEFAULT_PARTITION__"
    assert columns_of(every) == ("p",)


def test_a_partition_may_name_its_columns_in_any_order() -> None:
    every = {**statuses(1, 1, part="day=2026-03-01/region=eu"), **statuses(1, 1, part="day=2026-03-01/region=us")}
    [group] = groups(every, Limits(least=2), [Partition({"region": "eu", "day": "2026-03-01"})])
    assert group.directory == "day=2026-03-01/region=eu"


@pytest.mark.parametrize("directory", ["region=north%20east", "region=north east"])
def test_a_directory_may_be_escaped_by_any_tool(directory: str) -> None:
    [group] = groups(statuses(1, 1, part=directory), Limits(least=2), [Partition({"region": "north east"})])
    assert group.directory == directory


def test_directories_hold_the_values_that_spark_has_escaped() -> None:
    directory = "at=2026-03-01 05%3A00/what=a%2Fb%25/none=__HIVE_DEFAULT_PARTITION__"
    assert values_of(directory) == {"at": "2026-03-01 05:00", "what": "a/b%", "none": None}


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("p=a/part-0-c000.snappy.parquet", "snappy"),
        ("part-0.gz.parquet", "gzip"),
        ("part-0.zstd.orc", "zstd"),
        ("part-0.parquet", None),
        ("part-1.5.parquet", None),
    ],
)
def test_the_codec_is_that_of_the_files(name: str, codec: str | None) -> None:
    assert codec_of(name) == codec
