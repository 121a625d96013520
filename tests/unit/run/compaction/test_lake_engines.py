from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from catchment.errors import Cancelled, EngineLost, EngineOutOfMemory, JobError, RequestError, Retryable
from catchment.plan.model import Partition, Rewrite
from catchment.project.model import Address, Upkeep
from catchment.run.compaction import lake_engines
from catchment.run.compaction.compactor import TableCompactor
from catchment.run.compaction.lake_engines import EnduringLake, NoEngineLives
from tests.unit.run.compaction.lakes import NOW, TABLE, FakeLake, part

LOST = EngineLost("engine default was killed by SIGKILL", hint="read its log")
FULL = EngineOutOfMemory("the engine ran out of memory")
REWRITE = Rewrite(partitions=(Partition({"part": "a"}),))
WHOLE = Address("lake", None, None, None)


@dataclass
class Engines:
    """Engines that answer from one lake, until each is lost in the way that is planned for it."""

    lake: FakeLake
    losses: list[EngineLost | None]
    """What happens to each engine at its next maintenance action."""
    at_start: EngineLost | None = None
    started: int = 0
    ended: list[type[BaseException] | None] = field(default_factory=list)

    def open(self) -> Any:
        return Engine(self)


@dataclass
class Engine:
    """One of the engines, with the methods of a session."""

    engines: Engines

    def __enter__(self) -> Engine:
        self.engines.started += 1
        if self.engines.at_start:
            raise self.engines.at_start
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.engines.ended.append(kind)

    def health(self, *asked: Any) -> Any:
        return self.engines.lake.health(*asked)

    def inspect(self, *asked: Any) -> Any:
        return self.engines.lake.inspect(*asked)

    def maintain(self, *asked: Any, **how: Any) -> Any:
        if self.engines.losses and (lost := self.engines.losses.pop(0)):
            raise lost
        return self.engines.lake.maintain(*asked, **how)


Enduring = Callable[..., tuple[Engines, EnduringLake]]


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def enduring(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> Enduring:
    def make(*losses: EngineLost | None, **lake: Any) -> tuple[Engines, EnduringLake]:
        engines = Engines(FakeLake({TABLE.address: [part("a", 6), part("b", 9)]}, **lake), list(losses))
        made = EnduringLake(engines.open, lambda _: None, threading.Event())

        def wait(seconds: float) -> bool:
            pauses.append(seconds)
            return made.stop.is_set()

        monkeypatch.setattr(made.stop, "wait", wait)
        return engines, made

    return make


def compact(lake: EnduringLake) -> TableCompactor:
    """The compaction of a table, which is done once."""
    with lake:
        made = TableCompactor(lake, TABLE, Upkeep(), "somebody", stop=lake.stop, clock=lambda: NOW)
        made.batch()
    return made


def test_an_engine_is_started_by_the_first_question_and_ended_at_the_end(enduring: Enduring) -> None:
    engines, lake = enduring()
    with lake:
        assert engines.started == 0
        assert lake.health(TABLE)
        assert lake.inspect("tables", WHOLE)["tables"]
        assert (engines.started, engines.ended) == (1, [])
    assert engines.ended == [None]


def test_a_partition_whose_engine_is_lost_is_compacted_by_the_next_engine(
    enduring: Enduring, pauses: list[float]
) -> None:
    engines, lake = enduring(LOST, LOST)
    done = compact(lake).done
    assert (done.compactions, done.failed) == (2, 0)
    assert engines.lake.rewritten() == ["part=b", "part=a"]
    assert (engines.started, engines.ended) == (3, [EngineLost, EngineLost, None])
    assert (pauses, lake.losses) == ([2.0, 4.0], 2)


def test_a_partition_that_costs_several_engines_has_failed_and_the_others_are_compacted(enduring: Enduring) -> None:
    engines, lake = enduring(LOST, LOST, LOST)
    done = compact(lake).done
    assert (done.compactions, done.failed, engines.started) == (1, 1, 4)
    assert engines.lake.rewritten() == ["part=a"]


def test_a_new_engine_that_runs_out_of_memory_is_not_followed_by_another_one(enduring: Enduring) -> None:
    engines, lake = enduring(FULL)
    with lake, pytest.raises(EngineOutOfMemory):
        lake.maintain(TABLE, REWRITE, by="somebody", dry_run=False)
    assert engines.started == 1
    engines, lake = enduring(None, FULL, FULL)
    with lake:
        lake.maintain(TABLE, REWRITE, by="somebody", dry_run=False)
        with pytest.raises(EngineOutOfMemory):  # the first of these two may have been worn out
            lake.maintain(TABLE, REWRITE, by="somebody", dry_run=False)
    assert engines.started == 2


def losing(times: int, lost: EngineLost) -> list[EngineLost]:
    """So many losses of one kind, of engines that have done nothing else."""
    return [lost] * times


def test_engines_that_end_whatever_they_are_asked_end_the_compaction(enduring: Enduring) -> None:
    engines, lake = enduring(*losing(100, LOST))
    engines.lake.parts[TABLE.address] = [part(str(number), 6) for number in range(5)]
    with pytest.raises(NoEngineLives) as ended:
        compact(lake)
    assert (engines.started, engines.lake.rewritten()) == (9, [])
    assert (ended.value.code, ended.value.hint) == ("engine-lost", "read its log")


@pytest.mark.parametrize("loss", [LOST, FULL])
def test_engines_that_are_lost_now_and_then_or_for_want_of_memory_do_not_end_it(
    enduring: Enduring, loss: EngineLost
) -> None:
    """Each answer is followed by two losses of the first kind, or nine partitions in a row cost what they may."""
    of_one = [*losing(2, LOST), None] if loss is LOST else [FULL]
    engines, lake = enduring(*of_one * 10)
    engines.lake.parts[TABLE.address] = [part(str(number), 6) for number in range(11)]
    done = compact(lake).done
    assert (done.compactions, done.failed) == ((11, 0) if loss is LOST else (2, 9))


def test_engines_that_cannot_live_end_the_compaction_with_their_error(enduring: Enduring) -> None:
    engines, lake = enduring()
    engines.at_start = LOST
    with pytest.raises(EngineLost) as lost:
        compact(lake)
    assert (engines.started, lost.value.hint) == (3, "read its log")


def test_whoever_is_stopped_starts_no_other_engine(enduring: Enduring) -> None:
    engines, lake = enduring(LOST)
    lake.stop.set()
    with lake, pytest.raises(Retryable) as failed:
        lake.maintain(TABLE, REWRITE, by="somebody", dry_run=False)
    assert not isinstance(failed.value, EngineLost), "it does not end what is ending anyway"
    assert (failed.value.code, failed.value.hint, engines.started) == ("engine-lost", "read its log", 1)


def test_a_compaction_that_is_stopped_while_it_replaces_its_engine_starts_no_other_one(enduring: Enduring) -> None:
    engines, lake = enduring(LOST)
    lake.tell = lambda _: lake.stop.set()
    assert compact(lake).done.failed == 1
    assert (engines.started, engines.ended) == (1, [EngineLost])


def test_once_it_is_stopped_no_question_starts_another_engine(enduring: Enduring) -> None:
    engines, lake = enduring(LOST)
    lake.stop.set()
    with lake:
        for _ in range(2):
            with pytest.raises(Retryable) as failed:
                lake.maintain(TABLE, REWRITE, by="somebody", dry_run=False)
            assert not isinstance(failed.value, EngineLost)
    assert engines.started == 1


@pytest.mark.parametrize("asked", ["maintain", "health"])
def test_what_takes_too_long_once_it_is_to_stop_is_cancelled(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setattr(lake_engines, "FINISH_SECONDS", 0.0)
    monkeypatch.setattr(lake_engines, "LOOK_SECONDS", 0.01)
    engines, told, cancelled = Engines(FakeLake({TABLE.address: [part("a", 6)]}), []), list[str](), threading.Event()
    lake = EnduringLake(engines.open, told.append, threading.Event())

    def endless(*_: Any, **__: Any) -> Any:
        """Work that goes on until it is cancelled, and somebody who stops it meanwhile."""
        lake.stop.set()
        assert cancelled.wait(30)
        raise JobError("the job was cancelled", code="cancelled")

    monkeypatch.setattr(Engine, "cancel", lambda _: cancelled.set(), raising=False)
    monkeypatch.setattr(Engine, asked, endless)
    if asked == "maintain":
        assert compact(lake).done.failed == 1
    else:
        with pytest.raises(Cancelled):
            compact(lake)
    assert engines.ended == [Cancelled if asked == "health" else None]
    assert [line for line in told if "is cancelled" in line] == told[:1]


def test_nobody_is_cancelled_who_is_not_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may have cancelled what is asked, which is an error like others."""
    engines = Engines(FakeLake({TABLE.address: [part("a", 6)]}), [])
    lake = EnduringLake(engines.open, lambda _: None, threading.Event())
    refused = RequestError("cancelled", code="cancelled")
    engines.lake.unreadable = {TABLE.address: refused}
    with lake, pytest.raises(RequestError) as raised:
        lake.health(TABLE)
    assert raised.value is refused


def test_an_error_is_an_answer(enduring: Enduring) -> None:
    engines, lake = enduring(unreadable={TABLE.address: RequestError("no such table")})
    with lake:
        for _ in range(2):
            with pytest.raises(RequestError):
                lake.health(TABLE)
    assert (engines.started, engines.ended) == (1, [None])
