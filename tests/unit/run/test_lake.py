"""Questions about the lake, asked of one engine that is gone when they are answered."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import (
    CatchmentError,
    EngineLost,
    EngineOutOfMemory,
    JobError,
    RequestError,
    Retryable,
    SetupError,
)
from catchment.plan.model import Dataset, EnginePlan, RewriteManifests
from catchment.project.model import Catalog, Depot, Project, Settings
from catchment.run import inspection, lake, tables
from catchment.run.engine_pool import Launch, Process
from tests.unit.formats import choosy
from tests.unit.formats.choosy import NEW, OLD
from tests.unit.run.conftest import Lab, launch


@pytest.fixture
def project(lab: Lab) -> Project:
    depot = Depot("lake", "iceberg", str(lab.root), Catalog())
    passed = Settings(pass_environment=("SAYS", "REFUSES", "TRACE"))
    return replace(lab.project, depots={"lake": depot}, settings=passed)


def test_a_query_is_answered_with_rows(project: Project) -> None:
    told: list[str] = []
    rows = lake.query(project, "select 1", limit=7, tell=told.append, launch=launch)
    assert (rows.columns, rows.rows) == (("a",), (("select 1",), (7,)))
    assert told == ["getting ready"]


def test_a_watched_query_is_asked_of_one_engine(project: Project) -> None:
    started: list[str] = []
    looks = lake.watch(project, "select 1", 0.0, limit=7, launch=launches(started))
    assert [look.rows for look in islice(looks, 3)] == [(("select 1",), (7,))] * 3
    looks.close()
    assert started == ["default"]


def test_a_question_that_was_answered_leaves_no_log(project: Project) -> None:
    lake.query(project, "select 1", limit=None, launch=launch)
    assert not project.home.exists()
    project.home.mkdir()
    lake.query(project, "select 1", limit=None, launch=launch)
    assert list((project.home / "questions").iterdir()) == []


def test_only_an_engine_that_was_lost_or_did_not_start_leaves_a_log(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.home.mkdir()
    questions = project.home / "questions"
    with pytest.raises(RequestError):
        lake.query(project, "bad", limit=None, launch=launch)
    with pytest.raises(KeyboardInterrupt), lake.LakeSession(project, launch=launch):
        raise KeyboardInterrupt
    assert list(questions.iterdir()) == []
    with pytest.raises(EngineLost):
        lake.query(project, "die", limit=None, launch=launch)
    assert len(list(questions.iterdir())) == 1
    monkeypatch.setenv("REFUSES", "setup")
    with pytest.raises(SetupError):
        lake.query(project, "select 1", limit=None, launch=launch)
    assert len(list(questions.iterdir())) == 2


def test_logs_of_engines_that_were_lost_long_ago_are_removed(project: Project) -> None:
    old, recent = (project.home / "questions" / name for name in ("old", "recent"))
    for place, days in ((old, 4), (recent, 2)):
        place.mkdir(parents=True)
        (place / "engine-default.log").write_text("the end\n")
        for each in (place / "engine-default.log", place):
            os.utime(each, (time.time() - days * 86400,) * 2)
    kept = replace(project, settings=replace(project.settings, keep_days=3))
    lake.query(kept, "select 1", limit=None, launch=launch)
    assert list((project.home / "questions").iterdir()) == [recent]


def test_a_query_that_fails_is_an_error_without_secrets(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYS", "hunter22")
    with pytest.raises(RequestError) as caught:
        lake.query(project, "bad", limit=None, launch=launch)
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("script-job", "it said no, ***", "mend it")


@pytest.mark.parametrize(("sql", "kind"), [("die", EngineLost), ("exhaust", EngineOutOfMemory)])
def test_whoever_asks_can_tell_how_the_engine_was_lost(project: Project, sql: str, kind: type[EngineLost]) -> None:
    with pytest.raises(EngineLost) as caught:
        lake.query(project, sql, limit=None, launch=launch)
    assert (type(caught.value), caught.value.code) == (kind, kind.code)


TABLE = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")


@pytest.mark.parametrize(
    ("kind", "at_work", "in_advance"),
    [("job", JobError, RequestError), ("setup", SetupError, SetupError), ("transient", Retryable, Retryable)],
)
def test_maintenance_that_fails_at_work_is_no_wrong_request(
    project: Project, kind: str, at_work: type[CatchmentError], in_advance: type[CatchmentError]
) -> None:
    with lake.LakeSession(project, tables={"lake"}, launch=launch) as session:
        for dry_run, expected in ((False, at_work), (True, in_advance)):
            with pytest.raises(CatchmentError) as caught:
                session.maintain(TABLE, RewriteManifests(), by=kind, dry_run=dry_run)
            assert (type(caught.value), caught.value.code) == (expected, f"script-{kind}")


def test_maintenance_by_hand_that_fails_is_reported_like_other_questions(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "who", lambda: "job")
    with pytest.raises(RequestError):
        tables.maintain(project, TABLE.address, RewriteManifests(), launch=launch)


def test_an_engine_that_cannot_start_is_an_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSES", "setup")
    with pytest.raises(SetupError) as caught:
        lake.query(project, "select 1", limit=None, launch=launch)
    assert caught.value.code == "script-setup"


@pytest.mark.parametrize("address", ["lake", "dataos://lake:raw/t", "lake://lake:raw"])
def test_the_tables_of_a_depot_are_asked_by_its_name_or_an_address(project: Project, address: str) -> None:
    facts = inspection.inspect(project, "tables", address, launch=launch)
    assert (facts["what"], facts["depot"]["name"], facts["dataset"]) == ("tables", "lake", None)


@pytest.mark.parametrize("address", ["icebase", "dataos://icebase:raw/t"])
def test_the_other_name_of_the_lake_will_do(project: Project, address: str) -> None:
    known = replace(project, depots={"lakehouse": replace(project.depots["lake"], name="lakehouse")})
    facts = inspection.inspect(known, "table" if "/" in address else "tables", address, launch=launch)
    assert facts["depot"]["name"] == "lakehouse"
    assert (facts["dataset"] or {}).get("address") in (None, "dataos://lakehouse:raw/t")


def test_a_table_is_asked_by_its_address(project: Project) -> None:
    facts = inspection.inspect(project, "snapshots", "dataos://lake:raw/t", launch=launch)
    assert (facts["dataset"]["namespace"], facts["dataset"]["table"]) == ("raw", "t")


def test_an_unknown_depot_is_refused_before_an_engine_starts(project: Project) -> None:
    with pytest.raises(RequestError) as caught:
        inspection.inspect(project, "tables", "river", launch=launch)
    assert caught.value.code == "unknown-depot"
    assert not (project.home / "questions").exists()


def test_nothing_is_left_behind(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace"
    monkeypatch.setenv("TRACE", str(trace))
    lake.query(project, "select 1", limit=None, launch=launch)
    pid = int(trace.read_text().split('"pid": ')[1].split("}")[0])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def choosy_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    choosy.register(monkeypatch)
    return replace(project, depots={**project.depots, "old": OLD, "new": NEW})


def launches(started: list[str]) -> Launch:
    def noting(engine: EnginePlan, **more: Any) -> Process:
        started.append(engine.key)
        return launch(engine, **more)

    return noting


def test_a_question_is_asked_of_an_engine_that_can_read_the_depot(choosy_project: Project) -> None:
    told: list[str] = []
    started: list[str] = []
    asking = launches(started)
    lake.query(choosy_project, "select * from lake.raw.t", limit=None, tell=told.append, launch=asking)
    assert (started, told) == (["default"], ["getting ready"])
    lake.query(choosy_project, "select * from old.raw.t", limit=None, tell=told.append, launch=asking)
    assert told[1].startswith("on engine spark-3.5: depot `old` (old-toy) needs Spark 3.5")
    inspection.inspect(choosy_project, "tables", "old", launch=asking)
    inspection.inspect(choosy_project, "tables", "new", launch=asking)
    assert started == ["default", "spark-3.5", "spark-3.5", "default"]


def test_tables_that_no_engine_reads_together_are_refused_before_one_starts(choosy_project: Project) -> None:
    started: list[str] = []
    sql = "select * from old.raw.t, new.raw.t"
    for engine, code in ((None, "no-suitable-engine"), ("default", "unsuitable-engine")):
        with pytest.raises(RequestError) as caught:
            lake.query(choosy_project, sql, limit=None, engine=engine, launch=launches(started))
        assert (caught.value.code, started) == (code, [])
