"""Which commands may use a resident engine: those that need the very same one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment.engine.protocol import Attach, Residence, Start
from catchment.engine.residence import OTHER_VERSION, differences, variables
from catchment.errors import Position
from catchment.plan.model import EnginePlan
from catchment.project.model import Catalog, Depot, Engine, Settings

LAKE = Depot("lake", "iceberg", "/lake", Catalog("jdbc", properties={"user": "a"}), {"spark.x": "1"})
FILES = Depot("files", "files", "/files")
PLAN = EnginePlan("default", Engine("default", conf={"spark.a": "1"}), {"spark.a": "1"}, depots=(FILES, LAKE))
START = Start(PLAN, ("a.jar",), "/logs", "/scratch", ("hunter2", "other"))
RESIDENCE = Residence("/socket", "token", {"HOME": "/home/me"}, "1.0", None)
WANTED = Attach("token", PLAN, "/run", ("hunter2",), {"HOME": "/home/me"}, "1.0", "a test")


def why(**changes: object) -> list[str]:
    return differences(START, RESIDENCE, replace(WANTED, **changes))  # type: ignore[arg-type]


def engine(**changes: object) -> EnginePlan:
    return replace(PLAN, **changes)  # type: ignore[arg-type]


def test_the_same_engine_fits() -> None:
    assert why() == []


def test_fewer_depots_and_secrets_fit() -> None:
    assert why(engine=engine(depots=(LAKE,)), secrets=()) == []


def test_a_line_of_the_project_file_does_not_matter() -> None:
    moved = replace(LAKE, where=Position("catchment.yaml", 9, 1))
    told = engine(depots=(moved,), engine=replace(PLAN.engine, where=Position("catchment.yaml", 3, 1)))
    assert why(engine=told) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"engine": replace(PLAN.engine, master="local[1]")}, "another definition of the engine"),
        ({"engine": replace(PLAN.engine, packages=("a:b:1",))}, "another definition of the engine"),
        ({"conf": {"spark.a": "2"}}, "other Spark settings"),
        ({"envs": {"A": "1"}}, "other variables of jobs"),
        ({"directory": "/elsewhere"}, "another directory"),
        ({"metastore": "sqlite:///elsewhere"}, "another metastore"),
        ({"settings": Settings(linger=1.0)}, "other settings of the project"),
        ({"depots": (replace(LAKE, conf={"spark.x": "2"}),)}, "other depots (lake)"),
        ({"depots": (Depot("new", "files", "/new"), LAKE)}, "other depots (new)"),
    ],
)
def test_another_engine_does_not_fit(changed: dict[str, object], reason: str) -> None:
    assert why(engine=engine(**changed)) == [reason]


def test_another_environment_does_not_fit_and_no_value_is_told() -> None:
    assert why(environment={"HOME": "/home/me", "AWS_KEY": "hunter2"}) == ["other environment variables (AWS_KEY)"]


def test_other_secrets_do_not_fit() -> None:
    assert why(secrets=("new",)) == ["other secrets"]


@pytest.mark.parametrize("changes", [{"code": "2.0"}, {"version": 1}])
def test_another_version_does_not_fit(changes: dict[str, object]) -> None:
    assert why(**changes) == [OTHER_VERSION]


def test_variables_of_a_terminal_and_of_a_command_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"XDG_SESSION_ID": "7", "XDG_RUNTIME_DIR": "/run/user/0", "CATCHMENT_ENV": "test", "EDITOR": "vi"}
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    found = variables(PLAN)
    assert found["HADOOP_CONF_DIR"] == "/etc/hadoop"
    assert not others.keys() & found.keys()
