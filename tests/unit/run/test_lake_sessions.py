"""Several questions of one person: engines are started once each, and after trouble another one is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from catchment.errors import EngineLost, RequestError
from catchment.plan.model import EnginePlan
from catchment.project.model import Address, Catalog, Depot, Project, Settings
from catchment.run.engine_pool import Launch, Process
from catchment.run.lake_names import LakeNames
from catchment.run.lake_sessions import LakeSessions
from tests.concurrency.waiting import until
from tests.unit.formats import choosy
from tests.unit.formats.choosy import NEW, OLD
from tests.unit.formats.iceberg import tables
from tests.unit.run.conftest import Lab, launch


@pytest.fixture
def project(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Project:
    choosy.register(monkeypatch)
    depot = Depot("lake", "iceberg", str(lab.root), Catalog(database=str(lab.root / "lake" / "catalog.db")))
    depots = {"lake": depot, "old": OLD, "new": NEW}
    return replace(lab.project, depots=depots, settings=Settings(pass_environment=("TRACE",)))


def noting(started: list[str]) -> Launch:
    def start(engine: EnginePlan, **more: Any) -> Process:
        started.append(engine.key)
        return launch(engine, **more)

    return start


def ask(lake: LakeSessions, sql: str) -> Any:
    return lake.query(sql, limit=None, published=False, write=False).rows[0][0]


def test_each_engine_is_started_once_and_when_it_is_needed(project: Project) -> None:
    started: list[str] = []
    with LakeSessions(project, launch=noting(started)) as lake:
        lake.start()
        assert [ask(lake, "select 1"), ask(lake, "select * from old.a.t"), ask(lake, "select 3")] == [
            *("select 1", "select * from old.a.t", "select 3"),
        ]
        assert started == ["default", "spark-3.5"]


def test_an_error_keeps_the_engine_and_its_loss_does_not_end_the_session(project: Project) -> None:
    started: list[str] = []
    with LakeSessions(project, launch=noting(started)) as lake:
        with pytest.raises(RequestError):
            ask(lake, "bad")
        assert ask(lake, "select 1") == "select 1"
        with pytest.raises(EngineLost):
            ask(lake, "die")
        assert ask(lake, "select 2") == "select 2"
    assert started == ["default", "default"]


def test_names_are_read_without_starting_an_engine(project: Project, lab: Lab, tmp_path: Path) -> None:
    tables.make(lab.root / "lake")
    started: list[str] = []
    with LakeSessions(project, launch=noting(started)) as lake:
        names = LakeNames(project, lake)
        assert (names.tables("lake"), names.columns("lake", "raw", "t")) == ([("raw", "t")], ["id"])
        assert (names.tables("old"), started) == ([], [])
        (lab.root / "lake" / "catalog.db").unlink()
        assert names.tables("lake") == [("raw", "t")]
        names.forget()
        assert names.tables("lake") == []
        assert names.facts("tables", Address("old", None, None, None))["what"] == "tables"
        assert started == ["spark-3.5"]


def test_a_question_can_be_cancelled(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace"
    monkeypatch.setenv("TRACE", str(trace))
    with LakeSessions(project, launch=launch) as lake, ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask, lake, "hang")
        until(lambda: trace.exists() and "hangs" in trace.read_text())
        lake.cancel()
        with pytest.raises(RequestError) as caught:
            asked.result()
        assert caught.value.code == "cancelled"
        assert ask(lake, "select 1") == "select 1"


def test_names_that_an_engine_does_not_find_keep_no_question_waiting(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace"
    monkeypatch.setenv("TRACE", str(trace))
    project = replace(project, depots={**project.depots, "hang": replace(OLD, name="hang")})
    with LakeSessions(project, launch=launch) as lake:
        lake.inspect("tables", Address("old", None, None, None))
        names = beside(lambda: LakeNames(project, lake).tables("hang"))
        until(lambda: "hangs" in trace.read_text())
        answer = beside(lambda: ask(lake, "select * from old.a.t"))
        assert answer.get(timeout=60) == "select * from old.a.t"
        lake.cancel()  # means a statement, and not the names
        assert names.empty()
    assert names.get(timeout=60) == []


def beside(question: Callable[[], Any]) -> SimpleQueue[Any]:
    """Where the answer to a question will be, which is asked in a thread that nobody waits for."""
    answer: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=lambda: answer.put(question()), daemon=True).start()
    return answer


@pytest.mark.parametrize(
    "question",
    [
        lambda lake: ask(lake, "select * from old.a.t"),
        lambda lake: lake.inspect("tables", Address("old", None, None, None)),
    ],
    ids=["query", "inspect"],
)
def test_what_comes_after_a_cancelled_question_is_answered(
    project: Project, question: Callable[[LakeSessions], Any]
) -> None:
    cancelled: list[bool] = []

    def start(engine: EnginePlan, **more: Any) -> Process:
        if not cancelled:
            cancelled.append(lake.cancel())
        return launch(engine, **more)

    with LakeSessions(project, launch=start) as lake:
        with pytest.raises(RequestError) as caught:
            question(lake)
        assert (caught.value.code, cancelled) == ("cancelled", [True])
        assert lake.inspect("tables", Address("old", None, None, None))["what"] == "tables"
        assert not lake.cancel()  # nothing is asked
        assert LakeNames(project, lake).facts("tables", Address("old", None, None, None))["what"] == "tables"
        assert ask(lake, "select 1") == "select 1"
