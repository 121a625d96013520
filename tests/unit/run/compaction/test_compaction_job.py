from __future__ import annotations

import threading
from pathlib import Path

import pytest

from catchment.errors import JobError, LeaseHeld, RequestError
from catchment.plan.datasets import upkeep_of
from catchment.plan.model import Dataset, Partition, Rewrite
from catchment.project.model import Depot, Engine, Project, Thresholds, Upkeep
from catchment.run.compaction.compaction_job import compactor_lease, dataset_of, preview, rewrite_once
from catchment.store import open_store
from tests.unit.run.compaction.lakes import TABLE, FakeLake, compactor, lake_of, part


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = {
        "lake": Depot("lake", "iceberg", str(tmp_path / "lake")),
        "drop": Depot("drop", "files", str(tmp_path / "drop")),
    }
    url = f"sqlite:///{tmp_path / 'metastore.db'}"
    return Project(tmp_path, tmp_path / "catchment.yaml", url, found, {"default": Engine("default")})


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("dataos://lake:raw/t?acl=r", "read-only-input"),
        ("dataos://drop:none/t.csv", "unsupported-actions"),
        ("dataos://lake:raw", "no-dataset"),
        ("dataos://sea:raw/t", "unknown-depot"),
        ("t", "bad-address"),
    ],
)
def test_what_cannot_be_compacted_is_refused_before_spark_starts(project: Project, address: str, code: str) -> None:
    with pytest.raises(RequestError) as refused:
        dataset_of(project, address)
    assert refused.value.code == code


def test_health_may_be_asked_of_what_may_only_be_read(project: Project) -> None:
    assert dataset_of(project, "dataos://lake:raw/t?acl=r", reading=True) == TABLE
    assert dataset_of(project, "dataos://drop:none/t").format == "parquet"


def test_what_is_said_of_a_table_goes_before_what_is_said_of_its_depot(project: Project) -> None:
    of_depot, of_table = Upkeep(Thresholds(small_files=7)), Upkeep(Thresholds(small_files=9))
    from dataclasses import replace

    said = replace(project, maintain={"lake": of_depot, "dataos://lake:raw/other": of_table})
    assert upkeep_of(said, TABLE) == of_depot
    assert upkeep_of(said, replace(TABLE, address="dataos://lake:raw/other")) == of_table
    assert upkeep_of(project, TABLE) == Upkeep()


def test_the_second_compactor_of_a_table_leaves_or_waits(project: Project) -> None:
    told: list[str] = []
    with open_store(project.metastore) as store:
        stop = threading.Event()
        with compactor_lease(store, TABLE, stop, told.append, wait=False):
            with pytest.raises(LeaseHeld) as held, compactor_lease(store, TABLE, stop, told.append, wait=False):
                pass
            assert "being compacted" in held.value.message
            stop.set()  # one that waits leaves when it is stopped
            with pytest.raises(LeaseHeld), compactor_lease(store, TABLE, stop, told.append, wait=True):
                pass
        with compactor_lease(store, TABLE, stop, told.append, wait=False):
            assert told == []


def test_a_preview_says_why() -> None:
    facts = preview(compactor(lake_of(part("a", 6))))
    assert facts["partitions"] == [
        {
            "partition": "part=a",
            "files": 6,
            "bytes": 60,
            "reasons": ["6 small files (the limit is 5)"],
            "busy": False,
        }
    ]
    assert (facts["rewritten_files"], facts["dry_run"]) == (6, True)


FILES = Dataset("dataos://drop:none/t", "drop", "parquet", path="/drop/t")


@pytest.mark.parametrize(
    ("table", "write_only", "retention", "manifests", "expected"),
    [
        (TABLE, False, None, 99, (False, False)),
        (TABLE, True, None, 99, (True, False)),
        (TABLE, False, 60.0, 100, (True, True)),
        (FILES, False, 60.0, 100, (False, False)),
    ],
)
def test_a_preview_says_of_the_whole_table_what_the_compaction_then_does(
    table: Dataset, write_only: bool, retention: float | None, manifests: int, expected: tuple[bool, bool]
) -> None:
    lake = FakeLake({table.address: [part("a")]}, write_only=write_only, manifests=manifests)
    facts = preview(compactor(lake, Upkeep(retention=retention), table=table))
    assert (facts["expires_snapshots"], facts["merges_manifests"]) == expected
    compactor(lake, Upkeep(retention=retention), table=table).batch()
    done = {each.kind for each in lake.asked}
    assert ("expire_snapshots" in done, "rewrite_manifest" in done) == expected


SORT = Rewrite("sort", "id", partitions=(Partition({"part": "a"}),))


def test_a_rewrite_that_somebody_asks_for_is_followed_by_what_the_table_needs_as_a_whole() -> None:
    lake = lake_of(part("a", 6), write_only=True, manifests=100)
    assert rewrite_once(compactor(lake), SORT, dry_run=True)["expires_snapshots"]
    assert lake.asked == []
    facts = rewrite_once(compactor(lake), SORT, dry_run=False)
    assert [each.kind for each in lake.asked] == ["rewrite_dataset", "rewrite_manifest", "expire_snapshots"]
    assert (facts["rewritten_files"], facts["expired"], facts["failed"]) == (6, 1, 0)


def test_a_rewrite_that_somebody_asks_for_and_that_fails_is_reported_like_other_questions() -> None:
    with pytest.raises(RequestError) as failed:
        rewrite_once(compactor(lake_of(part("a", 6), trouble=JobError("no such column"))), SORT, dry_run=False)
    assert failed.value.code == "job-failed"


def test_an_expiry_that_fails_leaves_the_report_of_the_rewrite() -> None:
    lake = lake_of(part("a", 6), write_only=True, no_expiry=JobError("it broke", code="maintenance-failed"))
    facts = rewrite_once(compactor(lake), SORT, dry_run=False)
    assert (facts["rewritten_files"], facts["expired"], facts["failed"]) == (6, 0, 1)
