"""What readers see, moved by several at once and by engines that are killed."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.store import open_store
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import end_leases
from tests.spark.hosts import Host
from tests.spark.lake import HERE, LiveEngine, Pending, changing, engine_plan, lake_depot, table, writing

TABLES = {"a": "before-pointer-moved", "b": "pointer-moved", "c": "publication-recorded"}
"""The point at which whoever publishes a table is killed."""


@pytest.fixture
def here(engine: Host, tmp_path: Path) -> Iterator[LiveEngine]:
    """An engine on a lake of the test's own."""
    live = engine.guest(engine_plan(lake_depot(tmp_path)), tmp_path / "logs-here")
    yield live
    live.process.stop(grace=5)


def appending(number: int, name: str = "orders") -> JobPlan:
    return writing(f"SELECT {number} AS id", table(name), mode="append")


def publishing(value: str, name: str = "orders") -> JobPlan:
    return JobPlan("publishing", "default", HERE, change=changing(table(name), "set_version", value=value))


def seen(engine: LiveEngine, name: str = "orders") -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM lake_published.raw.{name} ORDER BY id")]


def chain(root: Path, name: str = "orders") -> list[tuple[int | None, int]]:
    """The recorded moves: from which version to which."""

    def number(file: str) -> int:
        found = re.search(r"/(\d+)-[^/]*$", file)
        assert found
        return int(found[1]) + 1

    with open_store(f"sqlite:///{root}/metastore.db") as store:
        found = store.publications.of_table(table(name).address)
    return [(each.before and number(each.before), number(each.file)) for each in found]  # type: ignore[misc]


@pytest.mark.slow
def test_an_engine_that_dies_has_moved_the_pointer_or_not(
    here: LiveEngine, start_engine: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    depot, engine = lake_depot(tmp_path), here
    for name, point in TABLES.items():
        for number in (1, 2):
            engine.run(appending(number, name))
        engine.run(publishing("v2", name))
        victim = start_engine(depot, fault=f"{point}:kill")
        assert isinstance(victim.start_job(publishing("latest", name), run="the-run").answer(), EngineLost)
        with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
            end_leases(store, worker_of(victim))
        assert seen(engine, name) == ([1] if point == "before-pointer-moved" else [1, 2])
    again = [engine.start_job(publishing("latest", name), run="the-run", number=2) for name in TABLES]
    for name, pending in zip(TABLES, again, strict=True):
        pending.done()
        assert seen(engine, name) == [1, 2]
        assert chain(tmp_path, name) == [(None, 2), (2, 3)]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_many_move_it_at_once(here: LiveEngine, start_engine: Callable[..., LiveEngine], tmp_path: Path) -> None:
    """Each move begins where another one ended: none is lost, none is half made."""
    depot = lake_depot(tmp_path)
    engines = [here, start_engine(depot)]
    for number in range(4):
        engines[0].run(appending(number))
    pending: list[Pending] = []
    for number in range(12):
        value = "latest" if number % 3 == 0 else f"v{2 + number % 4}"
        pending.append(engines[number % 2].start_job(publishing(value)))
    for each in pending:
        each.done()
    moves = chain(tmp_path)
    assert [before for before, _ in moves] == [None, *(after for _, after in moves[:-1])]
    assert len(seen(engines[0])) == moves[-1][1] - 1


@pytest.mark.slow
def test_one_that_slept_past_its_turn_does_not_undo_what_it_has_not_seen(
    here: LiveEngine, start_engine: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    """Its swap names the version that it looked at, which readers no longer see: it looks again."""
    depot = lake_depot(tmp_path)
    engine, sleeper = here, start_engine(depot, fault="before-pointer-moved:stop")
    for number in range(3):
        engine.run(appending(number))
    engine.run(publishing("v2"))
    sleeping = sleeper.start_job(publishing("v3"))
    await_sleep(worker_of(sleeper))
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        end_leases(store, worker_of(sleeper))
    engine.run(publishing("v4"))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    sleeping.done()
    assert seen(engine) == [0, 1]
    assert chain(tmp_path) == [(None, 2), (2, 4), (4, 3)]
