from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import CatchmentError, CommitConflict, EngineLost, JobError, Position, RequestError, SetupError
from catchment.plan.model import Expire, Rewrite, RewriteManifests
from catchment.project.model import Catalog, Depot, Engine, Project, Thresholds, Upkeep
from catchment.run.compaction.budget import Budget
from catchment.run.compaction.compaction_job import compactor_lease, dataset_of
from catchment.run.compaction.lake_engines import NoEngineLives
from catchment.run.compaction.whole_lake import LakeUpkeep
from catchment.store import Store, open_store
from tests.unit.run.compaction.lakes import NOW, FakeLake, part

A, B = "dataos://lake:raw/a", "dataos://lake:raw/b"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    lake = Depot("lake", "iceberg", str(tmp_path / "lake"), Catalog("jdbc", database=str(tmp_path / "c.db")))
    engines = {"default": Engine("default")}
    url = f"sqlite:///{tmp_path / 'metastore.db'}"
    return Project(tmp_path, tmp_path / "catchment.yaml", url, {"lake": lake}, engines)


@pytest.fixture
def store(project: Project) -> Iterator[Store]:
    with open_store(project.metastore) as opened:
        yield opened


def upkeep(project: Project, store: Store, lake: FakeLake, told: list[str] | None = None, **more: Any) -> LakeUpkeep:
    tell = (told if told is not None else []).append
    clock = more.pop("clock", lambda: NOW)
    budget = Budget(more.pop("budget", None))
    return LakeUpkeep(project, lambda _: lake, store, budget, threading.Event(), tell, clock)  # type: ignore[arg-type, return-value]


def test_tables_take_turns_and_the_one_with_the_most_to_do_is_first(project: Project, store: Store) -> None:
    lake = FakeLake({A: [part("a1", 6), part("a2", 5)], B: [part("b1", 30), part("b2", 5)], "dataos://lake:raw/c": []})
    report = upkeep(project, store, lake).once()
    assert lake.rewritten() == ["part=b1", "part=a1", "part=a2", "part=b2"]
    assert [(each["address"], each["rewritten_files"]) for each in report["tables"]][:2] == [(A, 11), (B, 35)]


def test_once_ends_although_somebody_goes_on_writing(project: Project, store: Store) -> None:
    lake = FakeLake({A: [part("a", 6)]})
    work = upkeep(project, store, lake)

    def refill(_: str) -> None:
        lake.parts[A] = [part("a", 7 + lake.commits)]
        lake.commits += 1

    work.tell = refill
    work.once()
    assert lake.rewritten() == ["part=a"]


def test_the_budget_of_an_hour(project: Project, store: Store) -> None:
    lake, told = FakeLake({A: [part("a", 6)], B: [part("b", 30)]}), list[str]()
    work = upkeep(project, store, lake, told, budget=300)
    work.once()
    assert lake.rewritten() == ["part=b"]
    assert "budget" in told[-1]
    budget = Budget(100)
    budget.spend(100, NOW)
    assert budget.is_spent(NOW + 3599)
    assert not budget.is_spent(NOW + 3600)
    assert not Budget().is_spent(NOW)


def test_that_continuous_waits_for_its_budget_is_told_once_each_time(project: Project, store: Store) -> None:
    lake, told, now = FakeLake({A: [part("a1", 7), part("a2", 6)]}), list[str](), [NOW]
    work = upkeep(project, store, lake, told, budget=10, clock=lambda: now[0])
    work.find_tables()
    for turns in (1, 2):
        assert work.turn(once=False)
        lake.parts[A], lake.commits = [part("a1", 7), part(f"a{turns}", 6)], lake.commits + 1
        for _ in range(3):
            assert not work.turn(once=False)
        assert sum("budget" in line for line in told) == turns
        now[0] += 3600
    lake.parts[A], lake.commits = [], lake.commits + 1
    work.turn(once=False)
    assert sum("budget" in line for line in told) == 2, "nothing waits"


@pytest.mark.parametrize(
    ("trouble", "attempts"),
    [
        (CommitConflict("overtaken"), 2),
        (JobError("broken"), 2),
        (RequestError("refused"), 9),  # before anything was read: as often as the growing pauses allow
        (SetupError("refused"), 9),
        (JobError("read-only", code="no-permission"), 9),
    ],
)
def test_what_was_read_in_vain_is_spent_too(
    project: Project, store: Store, trouble: CatchmentError, attempts: int
) -> None:
    """Each attempt reads 60 bytes of the 100 that may be read in an hour."""
    lake, now = FakeLake({A: [part("a", 6)]}, trouble=trouble), [NOW]
    work = upkeep(project, store, lake, budget=100, clock=lambda: now[0])
    work.find_tables()
    while now[0] < NOW + 3600:
        work.turn(once=False)
        now[0] += 10
    assert len(lake.rewritten()) == attempts
    work.turn(once=False)
    assert len(lake.rewritten()) == attempts + (attempts == 2), "an hour later, the first of them counts no more"


def test_what_lost_engines_have_read_and_files_that_were_left_over_are_spent_too(
    project: Project, store: Store
) -> None:
    lake = FakeLake({A: [part("a", 6)]})
    once = lake.maintain

    def maintain(table: Any, operation: Any, **how: Any) -> Any:
        lake.losses += 2
        return once(table, operation, **how)

    lake.maintain = maintain  # type: ignore[method-assign]
    work = upkeep(project, store, lake, budget=1000)
    work.once()
    assert sum(size for _, size in work.budget.spent) == 60 + 2 * 60
    lake = FakeLake({A: [part("a", 6)]})
    lake.maintain = lambda *_, **__: {"rewritten_files": 2, "rewritten_bytes": 20, "failed_files": 4}  # type: ignore[method-assign]
    work = upkeep(project, store, lake, budget=1000)
    work.once()
    assert sum(size for _, size in work.budget.spent) == 60


def test_nothing_is_kept_of_what_was_spent_long_ago_or_without_a_budget() -> None:
    limited, unlimited = Budget(100), Budget()
    for hour in range(3):
        for budget in (limited, unlimited):
            budget.spend(50, NOW + 3600 * hour)
    assert (len(limited.spent), len(unlimited.spent)) == (1, 0)


def test_a_table_that_somebody_else_compacts_is_left_to_them(project: Project, store: Store) -> None:
    lake, told = FakeLake({A: [part("a", 6)], B: [part("b", 30)]}), list[str]()
    with compactor_lease(store, dataset_of(project, B), threading.Event(), told.append, wait=False):
        upkeep(project, store, lake, told).once()
    assert lake.rewritten() == ["part=a"]
    assert any("being compacted" in line for line in told)


def test_that_somebody_else_compacts_a_table_is_told_once(project: Project, store: Store) -> None:
    lake, told = FakeLake({B: [part("b", 30)]}), list[str]()
    work = upkeep(project, store, lake, told)
    work.find_tables()
    for _ in range(2):
        with compactor_lease(store, dataset_of(project, B), threading.Event(), told.append, wait=False):
            for _ in range(3):
                assert not work.turn(once=False)
        assert work.turn(once=False)
        lake.parts[B] = [part("b", 31)]
        lake.commits += 1
    assert sum("being compacted" in line for line in told) == 2


def test_trouble_with_one_table_does_not_stop_the_others(project: Project, store: Store) -> None:
    lake, told = FakeLake({A: [part("a", 6)]}, trouble=JobError("broken")), list[str]()
    report = upkeep(project, store, lake, told).once()
    assert report["tables"][0]["failed"] == 1
    assert [(each["address"], each["code"]) for each in report["errors"]] == [(A, "job-failed")]
    assert f"{A}: error[job-failed]: broken" in told


@pytest.mark.parametrize(
    ("name", "code"),
    [("raw/my table", "bad-address"), ("a.b/t", "bad-address"), ("raw/.hidden", "address-escapes-depot")],
)
def test_a_table_that_no_address_can_name_does_not_stop_the_others(
    project: Project, store: Store, name: str, code: str
) -> None:
    strange, told = f"dataos://lake:{name}", list[str]()
    lake = FakeLake({strange: [part("s", 6)], A: [part("a", 6)]})
    work = upkeep(project, store, lake, told)
    [error] = work.once()["errors"]
    assert (lake.rewritten(), error["address"], error["code"]) == (["part=a"], strange, code)
    assert error["hint"]
    work.find_tables()
    [line] = [each for each in told if strange in each]  # once, although it is listed again and again
    assert f"error[{code}]" in line
    del lake.parts[strange]
    work.find_tables()
    assert work.report()["errors"] == []


def test_a_name_in_the_project_file_that_cannot_be_looked_after_does_not_stop_the_tables(
    project: Project, store: Store
) -> None:
    named = "dataos://lake:raw/my table"
    lake, told = FakeLake({A: [part("a", 6)]}), list[str]()
    work = upkeep(replace(project, maintain={named: Upkeep()}), store, lake, told)
    [error] = work.once()["errors"]
    work.find_tables()
    assert (lake.rewritten(), error["address"], error["code"]) == (["part=a"], named, "bad-address")
    assert sum(named in line for line in told) == 1


def test_a_table_that_is_dropped_is_forgotten(project: Project, store: Store) -> None:
    lake = FakeLake({A: [part("a", 6)], B: [part("b", 6)]})
    work = upkeep(project, store, lake)
    work.find_tables()
    assert work.turn(once=False)
    lake.unreadable = {A: JobError("there is no such table", code="no-table")}
    assert not work.turn(once=False)
    assert work.report()["tables"][0]["failed"] == 1
    del lake.parts[A]
    lake.unreadable["dataos://lake:none"] = JobError("the catalog does not answer")
    work.find_tables()  # what cannot be listed is not gone
    assert [each["address"] for each in work.report()["tables"]] == [A, B]
    lake.unreadable = {}
    work.find_tables()
    work.tidy()
    report = work.report()
    assert ([each["address"] for each in report["tables"]], report["errors"]) == ([B], [])
    assert report["rewritten_bytes"] == 120, "what was rewritten stays counted"


def test_a_table_that_is_dropped_during_a_single_turn_has_not_failed(project: Project, store: Store) -> None:
    lake = FakeLake({A: [part("a", 6)], B: [part("b", 6)]})
    work = upkeep(project, store, lake)

    def drop(_: str) -> None:
        lake.parts.pop(A, None)
        lake.unreadable = {A: JobError("there is no such table", code="no-table")}

    work.tell = drop
    report = work.once()
    assert ([each["address"] for each in report["tables"]], report["errors"]) == ([B], [])


def test_what_cannot_be_looked_at_has_failed_and_is_told_with_its_place_and_a_hint(
    project: Project, store: Store
) -> None:
    said = replace(project, depots={**project.depots, "sea": replace(project.depots["lake"], name="sea")})
    limit = RequestError("too large", code="threshold-never-met", where=Position("catchment.yaml", 7, 3), hint="less")
    lake, told = FakeLake({A: [part("a", 6)], B: [part("b", 6)]}), list[str]()
    lake.unreadable = {A: limit, "dataos://sea:none": JobError("gone", code="no-warehouse")}
    report = upkeep(said, store, lake, told).once()
    assert lake.rewritten() == ["part=b"]
    assert {each["address"]: each["failed"] for each in report["tables"]} == {A: 1, B: 0}
    assert [(each["address"], each["code"], each["line"]) for each in report["errors"]] == [
        (A, "threshold-never-met", 7),
        ("dataos://sea:none", "no-warehouse", None),
    ]
    [line] = [each for each in told if each.startswith(A)]  # once, although it is looked at again and again
    assert line.endswith("error[threshold-never-met]: too large\n    at catchment.yaml:7:3\n    hint: less")


def test_a_table_that_can_be_looked_at_again_has_not_failed(project: Project, store: Store) -> None:
    lake = FakeLake({A: [part("a", 6)]}, unreadable={A: JobError("broken")})
    work = upkeep(project, store, lake)
    work.find_tables()
    assert not work.turn(once=False)
    lake.unreadable = {}
    assert work.turn(once=False)
    assert (work.report()["tables"][0]["failed"], work.report()["errors"]) == (0, [])


@pytest.mark.parametrize("trouble", [CommitConflict("overtaken"), JobError("broken")])
def test_a_partition_that_fails_does_not_keep_the_others_of_its_table_from_being_compacted(
    project: Project, store: Store, trouble: CommitConflict | JobError
) -> None:
    lake = FakeLake({A: [part("a1", 6), part("a2", 5)]}, trouble=trouble)
    work = upkeep(project, store, lake)
    work.find_tables()
    assert not work.turn(once=False)  # so that it waits before the next attempt
    assert upkeep(project, store, lake).once()["tables"][0]["failed"] == 2


def test_engines_that_cannot_live_end_it(project: Project, store: Store) -> None:
    for unreadable in ({"dataos://lake:none": EngineLost("gone")}, {A: EngineLost("gone")}):
        with pytest.raises(EngineLost):
            upkeep(project, store, FakeLake({A: [part("a", 6)]}, unreadable=dict(unreadable))).once()
    with pytest.raises(NoEngineLives):
        upkeep(project, store, FakeLake({A: [part("a", 6)]}, trouble=NoEngineLives("gone"))).once()


def test_a_partition_that_costs_its_engines_does_not_keep_the_others_from_being_compacted(
    project: Project, store: Store
) -> None:
    lake = FakeLake({A: [part("a", 9)], B: [part("b", 6)]})
    once = lake.maintain

    def maintain(table: Any, operation: Any, **how: Any) -> Any:
        if table.address == A:
            raise EngineLost("gone")
        return once(table, operation, **how)

    lake.maintain = maintain  # type: ignore[method-assign]
    report = upkeep(project, store, lake).once()
    assert [(each["failed"], each["compactions"]) for each in report["tables"]] == [(1, 0), (0, 1)]


BROKE = JobError("it broke", code="maintenance-failed")


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"write_only": True, "no_expiry": BROKE}, "expire_snapshots"),
        ({"manifests": 100, "trouble": BROKE}, "rewrite_manifest"),
    ],
)
def test_what_fails_for_the_whole_table_is_tried_again_with_growing_pauses(
    project: Project, store: Store, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], kind: str
) -> None:
    now = [NOW]
    lake = FakeLake({A: [part("a")]}, **more)
    work = upkeep(project, store, lake, clock=lambda: now[0])

    def pause(seconds: float) -> bool:
        now[0] += seconds
        if now[0] >= NOW + 100:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    report = work.continuous()
    assert [each.kind for each in lake.asked] == [kind] * 4
    assert (report["tables"][0]["failed"], report["errors"][0]["code"]) == (4, "maintenance-failed")


def test_manifests_that_cannot_be_merged_keep_no_snapshots(project: Project, store: Store) -> None:
    lake = FakeLake({A: [part("a")]}, manifests=100, trouble=BROKE, write_only=True)
    [table] = upkeep(project, store, lake).once()["tables"]
    assert (table["failed"], table["expired"]) == (1, 1)


def test_snapshots_are_expired_by_the_retention_of_the_table(project: Project, store: Store) -> None:
    said = replace(project, maintain={A: Upkeep(retention=100.0)})
    lake = FakeLake({A: [part("a", 1)], B: [part("b", 1)]})
    work = upkeep(said, store, lake)
    work.once()
    work.tidy()  # not again in the same hour
    assert [each.before for each in lake.asked if isinstance(each, Expire)] == [int((NOW - 100) * 1000)]


def test_many_manifests_are_merged_also_while_there_is_always_something_to_compact(
    project: Project, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = FakeLake({A: [part("a", 1)]}, manifests=100)
    upkeep(project, store, lake).once()
    assert [type(each) for each in lake.asked] == [RewriteManifests]
    lake = FakeLake({A: [part("a", 6)]}, manifests=100)
    work, turns = upkeep(project, store, lake), iter(range(3))

    def busy(*, once: bool) -> bool:
        LakeUpkeep.turn(work, once=once)
        if next(turns) == 2:
            work.stop.set()
        return True

    monkeypatch.setattr(work, "turn", busy)
    work.continuous()
    assert [type(each) for each in lake.asked] == [Rewrite, RewriteManifests]


def test_continuous_finds_new_tables_and_leaves_those_being_written(
    project: Project, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = replace(project, maintain={"lake": Upkeep(Thresholds(quiet=60))})
    lake = FakeLake({A: [part("busy", 6, changed=NOW)]})
    work = upkeep(said, store, lake)
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        lake.parts[B] = lake.parts.get(B, [part("b", 6)])
        if len(pauses) == 2:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    work.continuous(every=3.0)
    assert (lake.rewritten(), pauses) == (["part=b"], [3.0, 3.0])
