from __future__ import annotations

import threading
from pathlib import Path

import pytest

from catchment.errors import LeaseHeld, RequestError
from catchment.project.model import Depot, Engine, Project, Thresholds, Upkeep
from catchment.run.compaction.compaction_job import compactor_lease, dataset_of, preview, upkeep_of
from catchment.run.compaction.needs import Need
from catchment.store import open_store
from catchment.table_health import table_health
from tests.unit.run.compaction.lakes import SMALL, TABLE, TARGET, part


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
    found = table_health(TABLE.address, "1", (TARGET, SMALL), [part("a", 6)], write_only=True)
    facts = preview(TABLE, found, [Need(part("a", 6), ("6 small files (the limit is 5)",))])
    assert facts["partitions"] == [
        {
            "partition": "part=a",
            "files": 6,
            "bytes": 60,
            "reasons": ["6 small files (the limit is 5)"],
            "busy": False,
        }
    ]
    assert (facts["rewritten_files"], facts["expires_snapshots"], facts["dry_run"]) == (6, True, True)
