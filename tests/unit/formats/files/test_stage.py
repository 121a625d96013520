"""Names: of stages, of published files, and which of them readers skip."""

from __future__ import annotations

import pytest

from catchment.formats.files.stage import dataset_of, from_dataset, is_hidden, new_stage, published_name

UUID = "43702519-8b1c-4ec2-aa97-cb8d542c46b7"


def test_every_attempt_has_a_stage_of_its_own_beside_the_dataset() -> None:
    one, other = (new_stage("s3a://lake/raw/trips/", "run-1/load/out") for _ in range(2))
    assert one != other
    assert one.startswith("s3a://lake/raw/.catchment-stage/.trips/run-1.load.out.")
    assert dataset_of(one) == "s3a://lake/raw/trips"
    assert from_dataset(one) == f"../.catchment-stage/.trips/{one.rpartition('/')[2]}"


def test_a_volume_of_its_own_keeps_its_stages() -> None:
    """Files are not renamed from one volume to another."""
    assert new_stage("/dev", "r/j/o").startswith("/dev/.catchment-stage/r.j.o.")


def test_stages_of_earlier_versions_lie_inside_the_dataset() -> None:
    assert dataset_of("/lake/d/.catchment-stage/r.j.o.1") == "/lake/d"
    assert from_dataset("/lake/d/.catchment-stage/r.j.o.1") == ".catchment-stage/r.j.o.1"


@pytest.mark.parametrize(
    "buffer",
    ["/p/.catchment/depots/l/raw/t/data/r.j.o.1", "/d/.catchment-stage/a/b", "/d/.catchment-stage/.a/b/c", "x"],
)
def test_other_buffers_are_no_stages(buffer: str) -> None:
    assert dataset_of(buffer) is None


@pytest.mark.parametrize("write_id", ["r/" + "long" * 100 + "/out", "r/schön = 1/o ü?"])
def test_names_that_no_file_system_would_take_are_made_short_and_plain(write_id: str) -> None:
    name = new_stage("/d", write_id).rpartition("/")[2]
    assert len(published_name(f"part-00000-{UUID}.c000.snappy.parquet", f"/d/s/{name}")) < 200
    assert name.isascii()
    assert not set(name) & set(" =?/ü")


@pytest.mark.parametrize(
    ("staged", "published"),
    [
        (f"p=a b/q=1/part-00007-{UUID}.c000.gz.parquet", "p=a b/q=1/part-00007-r.j.o.1-43702519.c000.gz.parquet"),
        (f"part-00000-{UUID}-c001.csv", "part-00000-r.j.o.1-43702519-c001.csv"),
        ("odd.json", "part-r.j.o.1-odd.json"),
    ],
)
def test_published_names_tell_the_write(staged: str, published: str) -> None:
    assert published_name(staged, "/d/.catchment-stage/r.j.o.1") == published


def test_two_files_of_one_task_and_directory_keep_two_names() -> None:
    """Two values of a partition may share a directory: an hour that comes twice, `us` and `US` on some disks."""
    staged = [f"p=1/part-00000-{first}{UUID[8:]}.c000.parquet" for first in ("43702519", "5d02f1aa")]
    assert len({published_name(each, "/d/.catchment-stage/r.j.o.1") for each in staged}) == 2


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("a.parquet", False),
        ("p=__HIVE_DEFAULT_PARTITION__/a", False),
        ("_p=1/a", False),
        ("_SUCCESS", True),
        ("p=1/.a.crc", True),
        (".catchment-stage/r=1/a", True),
        ("_temporary/0/a", True),
    ],
)
def test_what_readers_skip(path: str, hidden: bool) -> None:
    assert is_hidden(path) is hidden
