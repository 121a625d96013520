"""Which names in a catalog lead to the directory that a drop would remove."""

from __future__ import annotations

from typing import Any

import pytest

from catchment.formats.delta import dropping
from catchment.formats.delta.dropping import completed
from catchment.plan.model import Dataset

HDFS, S3, DISK = "hdfs://nn", "s3a://b/", "file:///"


@pytest.mark.parametrize(
    ("default", "one", "other"),
    [
        (DISK, "s3a://b/raw/t", "s3://b/raw/t"),
        (DISK, "s3n://b/raw/t", "s3a://b/raw/t/"),
        (DISK, "/lake/raw/t", "file:/lake/raw/t"),
        (HDFS, "hdfs:///raw/t", "hdfs://nn/raw/t"),
        (HDFS, "/raw/t", "hdfs:/raw/t"),
        (S3, "/raw/t", "s3://b/raw/t"),
    ],
)
def test_one_directory_has_several_spellings(default: str, one: str, other: str) -> None:
    assert completed(one, default) == completed(other, default)


@pytest.mark.parametrize(
    ("default", "one", "other"),
    [
        (DISK, "s3a://b/raw/t", "s3a://c/raw/t"),
        (DISK, "s3a://b/raw/t", "gs://b/raw/t"),
        (HDFS, "/raw/t", "file:/raw/t"),
        (HDFS, "hdfs://other/raw/t", "hdfs:///raw/t"),
    ],
)
def test_other_stores_have_directories_of_the_same_path(default: str, one: str, other: str) -> None:
    assert completed(one, default) != completed(other, default)


def test_another_name_is_found_however_the_catalog_spells_its_location(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        ("raw", "t", "s3a://b/raw/t"),
        ("raw", "same", "s3://b/raw/t"),
        ("raw", "inside", "s3n://b/raw/t/more"),
        ("raw", "beside", "s3://b/raw/t2"),
        ("raw", "elsewhere", "s3://other/raw/t"),
    ]
    monkeypatch.setattr(dropping, "named_places", lambda _: names)
    spark: Any = None
    dataset = Dataset("dataos://shop:raw/t", "shop", "delta", "raw", "t", "s3a://b/raw/t", named=True)
    here = completed("s3a://b/raw/t", DISK)
    assert dropping._names_in(spark, dataset, here, DISK) == {"raw/same", "raw/inside"}
