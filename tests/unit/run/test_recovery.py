"""What there is to recover is read from the metastore; an engine is started only to do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from catchment.errors import RequestError
from catchment.plan.model import Dataset, EnginePlan
from catchment.project.model import Catalog, Depot, Project
from catchment.run import recovery, table_activity
from catchment.run.engine_pool import Process
from catchment.store import open_store
from catchment.store.database import database_time
from catchment.store.engines import SETTLING_SECONDS
from catchment.store.schema import uptime
from tests.ledgers import TARGET, Filled
from tests.unit.formats import choosy
from tests.unit.formats.choosy import NEW, OLD
from tests.unit.run.conftest import Lab, launch


@pytest.fixture
def project(lab: Lab) -> Project:
    depot = Depot("lakehouse", "iceberg", str(lab.root), Catalog())
    return replace(lab.project, depots={"lakehouse": depot})


@pytest.fixture
def filled(project: Project) -> Iterator[Filled]:
    with open_store(project.metastore) as store:
        yield Filled(store)


def test_an_address_means_the_table_however_it_is_spelled(project: Project, filled: Filled) -> None:
    filled.seal("r/j/1", target="dataos://lakehouse:raw/t")
    filled.seal("r/j/2", target="dataos://lakehouse:raw/other")
    for address in ("dataos://lakehouse:raw/t", "lake://lakehouse:raw/t?acl=rw", "dataos://icebase:raw/t"):
        assert [table.sealed for table in recovery.look(project, address)] == [("r/j/1",)]
    assert len(recovery.look(project)) == 2


@pytest.mark.parametrize(("address", "code"), [("dataos://lakehouse:raw", "no-dataset"), ("raw.t", "bad-address")])
def test_an_address_that_names_no_table_is_refused(project: Project, address: str, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        recovery.look(project, address)
    assert caught.value.code == code


@pytest.mark.parametrize("file", [None, Path("catchment.yaml")])
def test_a_depot_that_does_not_exist_is_refused(project: Project, file: Path | None) -> None:
    with pytest.raises(RequestError) as caught:
        recovery.look(replace(project, file=file), "dataos://nope:x/y")
    assert caught.value.code == "unknown-depot"


@pytest.mark.parametrize("remove", [True, False])
def test_the_engine_is_told_which_tables(project: Project, filled: Filled, remove: bool) -> None:
    filled.seal("r/j/1")
    facts = recovery.recover(project, recovery.look(project), remove=remove, launch=launch)
    table = {"address": TARGET, "depot": "lake", "namespace": "raw", "table": "t"}
    assert facts == {"tables": [table], "remove": remove}


def test_the_engine_is_told_where_files_are_and_knows_their_depot(project: Project, filled: Filled) -> None:
    drop = Depot("drop", "files", "s3a://bucket")
    filled.seal(
        "r/j/1",
        target="s3a://bucket/c/d",
        dataset=Dataset("dataos://drop:none/c/d", "drop", "csv", path="s3a://bucket/c/d"),
    )
    told: list[Sequence[Depot]] = []

    def noting(engine: EnginePlan, **more: Any) -> Process:
        told.append(engine.depots)
        return launch(engine, **more)

    known = replace(project, depots={**project.depots, "drop": drop})
    assert recovery.look(known, "dataos://drop:none/c") == ()
    assert recovery.look(known, "dataos://drop:none/c/d") == recovery.look(known)
    found = recovery.look(known, "dataos://drop:c/d")
    facts = recovery.recover(known, found, remove=True, launch=noting)
    assert [table["address"] for table in facts["tables"]] == ["s3a://bucket/c/d"]
    assert [depot.name for depot in told[0]] == ["drop", "lakehouse"]


def test_each_depot_is_recovered_by_an_engine_that_can_write_it(
    project: Project, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    choosy.register(monkeypatch)
    project = replace(project, depots={"old": OLD, "new": NEW})
    for depot in (OLD, NEW):
        table = Dataset(f"dataos://{depot.name}:raw/t", depot.name, depot.kind, "raw", depot.name)
        filled.seal(f"r/j/{depot.name}", target=table.address, dataset=table)
    started: list[str] = []

    def noting(engine: EnginePlan, **more: Any) -> Process:
        started.append(engine.key)
        return launch(engine, **more)

    facts = recovery.recover(project, recovery.look(project), remove=True, launch=noting)
    assert [table["table"] for table in facts["tables"]] == ["new", "old"]
    assert started == ["default", "spark-3.5"]


def test_a_lost_write_without_files_of_its_own_is_recovered_and_removes_nothing(
    project: Project, filled: Filled
) -> None:
    depot = Depot("events", "delta", "/events")
    project = replace(project, depots={"events": depot})
    table = Dataset("dataos://events:raw/t", "events", "delta", namespace="raw", table="t", path="/events/raw/t")
    filled.open("r/j/1", target=table.address, dataset=table, buffered=False)
    [found] = recovery.look(project)
    assert (found.recoverable, found.lost, found.buffers) == (True, ("r/j/1",), ())
    facts = recovery.recover(project, [found], remove=True, launch=launch)
    assert [table["table"] for table in facts["tables"]] == ["t"]


def test_engines_that_are_not_heard_from_are_waited_for(
    project: Project, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.store.engines.here("engine/silent", 0.0)
    filled.open("r/j/1", owner="engine/silent")

    def a_minute_later(_: float) -> None:
        with filled.store.database.writing() as connection:
            connection.execute(update(uptime).values(since=database_time() - 2 * SETTLING_SECONDS))

    monkeypatch.setattr("time.sleep", a_minute_later)
    told: list[str] = []
    [found] = recovery.look(project, tell=told.append)
    assert found.lost == ("r/j/1",)
    assert len(told) == 1


def test_nothing_to_recover_starts_no_engine(project: Project) -> None:
    assert recovery.recover(project, recovery.look(project), remove=True, launch=launch) == {"tables": []}
    assert not (project.home / "questions").exists()


def test_watching_looks_again(project: Project, filled: Filled) -> None:
    looks = table_activity.watch(project, every=0.0)
    assert next(looks) == ()
    filled.seal("r/j/1")
    assert [table.target for table in next(looks)] == [TARGET]
    assert [table.target for table in table_activity.writers(project)] == [TARGET]
