"""Questions about tables, which start an engine only if nothing else can answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from catchment.errors import RequestError
from catchment.project.model import Catalog, Depot, Project, Upkeep
from catchment.run import inspection
from catchment.run.compaction.health import health
from catchment.run.compaction.tidying import Tidying
from tests.unit.formats.iceberg import tables
from tests.unit.run.conftest import Lab, launch

TABLE = "dataos://lake:raw/t"


@pytest.fixture
def project(lab: Lab) -> Project:
    depot = Depot("lake", "iceberg", str(lab.root), Catalog(database=str(lab.root / "lake" / "catalog.db")))
    return replace(lab.project, depots={"lake": depot})


def no_engine(*_: Any, **__: Any) -> Any:
    raise AssertionError("an engine was started")


def test_a_table_is_read_without_an_engine(project: Project, lab: Lab) -> None:
    tables.make(lab.root / "lake")
    assert inspection.inspect(project, "table", TABLE, launch=no_engine)["rows"] == 3
    assert len(inspection.inspect(project, "tables", "lake", launch=no_engine)["tables"]) == 1


def test_a_table_that_is_not_there_is_an_error_of_the_request(project: Project) -> None:
    with pytest.raises(RequestError) as caught:
        inspection.inspect(project, "table", TABLE, launch=no_engine)
    assert caught.value.code == "table-not-found"


def test_an_engine_answers_what_cannot_be_read_and_the_reason_is_explained(project: Project, lab: Lab) -> None:
    tables.make(lab.root / "lake", b"{")
    explained: list[str] = []
    facts = inspection.inspect(project, "table", TABLE, explain=explained.append, launch=launch)
    assert facts["what"] == "table"
    assert [each.startswith("an engine answers: the metadata file") for each in explained] == [True]


def test_the_health_of_a_table_without_snapshots(project: Project, lab: Lab) -> None:
    empty = {**tables.METADATA, "current-snapshot-id": -1, "snapshots": []}
    tables.make(lab.root / "lake", json.dumps(empty).encode())
    found, needs, tidying = health(project, TABLE, launch=no_engine)
    assert (found.files, found.manifests, needs) == (0, 0, ())
    assert tidying == Tidying(merges_manifests=False, expires_snapshots=False)
    kept = replace(project, maintain={"lake": Upkeep(retention=60.0)})
    assert health(kept, TABLE, launch=no_engine)[2].expires_snapshots
