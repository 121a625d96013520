from __future__ import annotations

from pathlib import Path

from catchment.plan import engines
from catchment.plan.engines import Need
from catchment.project.depots import embedded
from catchment.project.model import Catalog, Depot, Engine, Project, Settings

DEFAULT = Engine("default", conf={"spark.driver.memory": "1g"})
BIG = Engine("big", isolation="process")
LAKE = Depot("lake", "iceberg", "/lake", Catalog("jdbc", database="/lake/catalog.db"))
DROP = Depot("drop", "files", "/drop")


def test_jobs_of_one_engine_share_a_process_and_its_depots() -> None:
    needs = [Need("a", DEFAULT, depots=(LAKE,)), Need("b", DEFAULT, depots=(DROP, LAKE))]
    keys, (plan,) = engines.assign(needs, {"default"})
    assert keys == {"a": "default", "b": "default"}
    assert plan.depots == (DROP, LAKE)
    assert plan.conf == {"spark.driver.memory": "1g"}


def test_other_application_settings_need_another_process() -> None:
    needs = [
        Need("a", DEFAULT),
        Need("same", DEFAULT, conf={"spark.driver.memory": "1g"}),
        Need("more", DEFAULT, conf={"spark.driver.memory": "4g"}),
        Need("env", DEFAULT, envs={"TZ": "UTC"}),
    ]
    keys, plans = engines.assign(needs, {"default"})
    assert keys == {"a": "default", "same": "default", "more": "default-2", "env": "default-3"}
    assert [plan.conf["spark.driver.memory"] for plan in plans] == ["1g", "4g", "1g"]
    assert plans[2].envs == {"TZ": "UTC"}


def test_a_guest_joins_whoever_is_there() -> None:
    needs = [Need("tool", DEFAULT, guest=True), Need("env", DEFAULT, envs={"TZ": "UTC"}), Need("a", DEFAULT)]
    keys, plans = engines.assign(needs, {"default"})
    assert keys == {"tool": "default", "env": "default", "a": "default-2"}
    assert [plan.envs for plan in plans] == [{"TZ": "UTC"}, {}]
    alone, _ = engines.assign([Need("tool", DEFAULT, guest=True), Need("apart", BIG, guest=True)], {"default", "big"})
    assert alone == {"tool": "default", "apart": "big-apart"}


def test_isolated_jobs_have_a_process_each() -> None:
    keys, plans = engines.assign([Need("a", BIG), Need("b", BIG)], {"default", "big"})
    assert keys == {"a": "big-a", "b": "big-b"}
    assert [plan.key for plan in plans] == ["big-a", "big-b"]


def test_keys_are_unique_whatever_engines_and_jobs_are_called() -> None:
    names = {"big", "big-2", "big-a", "default"}
    needs = [
        Need("a", BIG),
        Need("x", Engine("big-a")),
        Need("y", Engine("big-2")),
        Need("z", Engine("big-2"), envs={"A": "1"}),
        Need("2", BIG),
    ]
    keys, plans = engines.assign(needs, names)
    assert len({plan.key for plan in plans}) == 5
    assert (keys["x"], keys["y"]) == ("big-a", "big-2")
    assert not {keys["a"], keys["2"]} & names


def test_the_reading_engine_knows_every_table_depot(tmp_path: Path) -> None:
    for name in ("old", "lake"):
        home = tmp_path / ".catchment" / "depots" / name
        home.mkdir(parents=True)
        (home / "catalog.db").touch()
    project = Project(tmp_path, None, "", {"lake": LAKE, "drop": DROP}, {"default": DEFAULT})
    plan = engines.reading_engine(project)
    assert (plan.key, plan.engine, plan.conf) == ("default", DEFAULT, DEFAULT.conf)
    assert plan.depots == (LAKE, embedded(tmp_path / ".catchment", "old"))
    assert engines.reading_engine(project, files={"drop"}).depots == (
        DROP,
        LAKE,
        embedded(tmp_path / ".catchment", "old"),
    )


def test_every_engine_is_told_where_the_ledger_is_and_what_limits_hold(tmp_path: Path) -> None:
    settings = Settings(max_pending=7)
    _, plans = engines.assign([Need("a", DEFAULT), Need("b", BIG)], {"default", "big"}, "sqlite:///m.db", settings)
    project = Project(tmp_path, None, "sqlite:///m.db", {}, {"default": DEFAULT}, settings=settings)
    told = [(plan.metastore, plan.settings.max_pending) for plan in (*plans, engines.reading_engine(project))]
    assert told == [("sqlite:///m.db", 7)] * 3
