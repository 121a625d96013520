"""The door of a resident engine, with real sockets and no Spark behind it."""

from __future__ import annotations

import itertools
import os
import queue
import socket
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from catchment.engine.attached import AttachedEngine, Differs, NotThere, status
from catchment.engine.attached import Door as Address
from catchment.engine.protocol import (
    Attach,
    Ending,
    Ready,
    Reply,
    Residence,
    Start,
)
from catchment.engine.wire import reply
from catchment.errors import EngineLost, EngineOutOfMemory
from catchment.jvm.heap import HeapUse
from catchment.plan.model import EnginePlan
from catchment.project.model import Engine
from catchment.worker import wear
from catchment.worker import worker as worker_module
from catchment.worker.channel import Channel, SocketChannel
from catchment.worker.clients import Client, Door
from catchment.worker.worker import Worker

PLAN = EnginePlan("default", Engine("default"))
WANTED = Attach("right", PLAN, "/logs", ("hunter2",), {}, "1.0", "a test")


@dataclass
class Heap:
    """A heap that is as full as a test wants it; a collection removes what is garbage."""

    live: int = 10
    garbage: int = 0
    leak: int = 0
    """What is added until the next collection."""

    def measure(self) -> HeapUse:
        return HeapUse(self.live + self.garbage, self.live + self.garbage, 100, 0.0)

    def collect(self) -> None:
        self.garbage = 0
        self.live += self.leak


@dataclass
class Application:
    """What a worker asks of Spark here."""

    heap: Heap = field(default_factory=Heap)

    def ready(self) -> Ready:
        return Ready("4.1.2", "local-1")


class Lab:
    """A worker of a resident engine in this process, and its address."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, idle: float | None = None) -> None:
        self.address = Address(str(directory / "socket"), "right", directory / "engine.log")
        residence = Residence(self.address.socket, "right", {}, "1.0", idle)
        start = Start(PLAN, (), "/logs", "/scratch", ("hunter2",), residence=residence)
        self._replies, writing = os.pipe()
        self.worker, self.application = Worker(Channel(cast(Any, None), writing)), Application()
        self.worker._start = start
        future: Future[Any] = Future()
        future.set_result(self.application)
        self.worker._application = future
        self.ended: queue.Queue[bool] = queue.Queue()
        monkeypatch.setattr(self.worker, "end", self._end)
        self.door = Door(start, residence, self.worker.serve_client, self.worker._status)
        self.door.open()
        self.said: queue.Queue[Reply | EngineLost] = queue.Queue()

    def _end(self) -> None:
        self.ended.put(True)
        raise SystemExit

    def attach(self, wanted: Attach = WANTED) -> AttachedEngine:
        return AttachedEngine.attach(wanted, self.address, lambda _, said: self.said.put(said))

    def leave(self) -> Reply:
        """What the launcher hears when the engine ends by itself, in this thread."""
        with pytest.raises(SystemExit):
            self.worker._leave(self.door)
        assert self.ended.get(timeout=60)
        return reply(os.read(self._replies, 1000))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(worker_module, "IDLE_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(worker_module, "HEAP_LOOKS", 1)
    return Lab(tmp_path, monkeypatch)


def test_a_client_is_let_in_and_counted(lab: Lab) -> None:
    client = lab.attach()
    assert lab.said.get(timeout=60) == Ready("4.1.2", "local-1", resident=True)
    found = status(lab.address)
    assert [(each["who"], each["running"]) for each in found["clients"]] == [("a test", 0)]
    assert (found["heap_live"], found["heap_most"], found["jobs"], found["idle_seconds"]) == (10, 100, 0, None)
    assert found["refuses"] is None
    client.stop(60.0)
    assert status(lab.address)["clients"] == []


def test_a_client_without_the_token_is_not_let_in(lab: Lab) -> None:
    with pytest.raises(Differs):
        lab.attach(replace(WANTED, token="wrong"))
    for token in ("wrong", "größe"):
        with pytest.raises(NotThere):
            status(replace(lab.address, token=token))


def test_a_client_that_needs_another_engine_is_told_why(lab: Lab) -> None:
    with pytest.raises(Differs, match="other Spark settings") as found:
        lab.attach(replace(WANTED, engine=replace(PLAN, conf={"a": "b"})))
    assert found.value.is_outdated


@pytest.mark.parametrize("nonsense", [b"", b"\n", b"nonsense\n", b'{"kind": "stop"}\n', b"\xff\xfe\n"])
def test_nonsense_harms_nobody(nonsense: bytes, lab: Lab) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(lab.address.socket)
        stranger.sendall(nonsense)
        stranger.shutdown(socket.SHUT_WR)
        while stranger.recv(1000):
            pass
    lab.attach().stop(60.0)


def test_an_engine_without_clients_ends_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "IDLE_LOOK_SECONDS", 0.01)
    lab = Lab(tmp_path, monkeypatch, idle=0.2)
    assert lab.leave() == Ending("idle")
    with pytest.raises(NotThere):
        lab.attach()


def test_a_client_keeps_the_engine(lab: Lab) -> None:
    client = lab.attach()
    assert not lab.door.close_if_empty()
    client.stop(60.0)
    while not lab.door.close_if_empty():  # the door hears of it a moment later
        pass


def test_an_engine_may_be_told_to_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(tmp_path, monkeypatch, idle=600.0)
    assert status(lab.address)["idle_seconds"] == 600.0
    assert status(lab.address, stay=True)["idle_seconds"] is None
    assert not lab.door.close_if_idle()


def test_an_engine_whose_memory_is_not_given_back_ends(lab: Lab) -> None:
    lab.application.heap.live = 60
    assert lab.leave() == Ending("worn-out")


def test_an_engine_whose_heap_grows_with_its_commands_ends(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wear, "COMMANDS_PER_SAMPLE", 0)
    lab.application.heap.leak = 5
    assert lab.leave() == Ending("worn-out")
    assert lab.application.heap.live < 50


def test_an_engine_that_is_worn_out_lets_nobody_in_and_keeps_those_who_are_in(lab: Lab) -> None:
    here = lab.attach()
    lab.application.heap.live = 60
    with ThreadPoolExecutor(1) as threads:
        leaving = threads.submit(lab.leave)
        while lab.door._refusal is None:
            time.sleep(0.01)
        lab.application.heap.live = 10  # it is not asked again
        with pytest.raises(Differs, match="does not give its memory back") as found:
            lab.attach()
        assert not found.value.is_outdated
        assert lab.ended.empty()
        here.stop(60.0)
        assert leaving.result(60) == Ending("worn-out")


def test_an_engine_that_is_busy_at_most_looks_is_looked_at_when_it_is_not(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "HEAP_LOOKS", 5)
    busy = cast(Any, Attempt(None, Client(7, Channel(cast(Any, None), -1), "/logs")))
    looks = itertools.count(1)

    def sleep(_: float) -> None:
        """Work runs at every look but the seventh of each ten, which is no multiple of five."""
        lab.worker._attempts.clear()
        if next(looks) % 10 != 7:
            lab.worker._attempts["7/busy"] = busy

    monkeypatch.setattr(worker_module, "time", SimpleNamespace(sleep=sleep, time=time.time, monotonic=time.monotonic))
    lab.application.heap.live = 60
    assert lab.leave() == Ending("worn-out")
    assert next(looks) == 8


def test_what_is_measured_while_work_begins_is_no_wear(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    heap, client = lab.application.heap, Client(7, Channel(cast(Any, None), -1), "/logs")
    heap.live = 60
    monkeypatch.setattr(heap, "collect", lambda: lab.worker._attempts.update({"7": cast(Any, Attempt(None, client))}))
    assert not lab.worker._is_worn_out(wear.Wear(heap))
    lab.worker._attempts.clear()
    monkeypatch.undo()
    assert lab.worker._is_worn_out(wear.Wear(heap))


@dataclass
class Attempt:
    """Work that was cancelled and does not end."""

    abandoned: float | None
    client: Client

    def abandon(self) -> None:
        self.abandoned = time.monotonic()


def test_an_engine_whose_work_does_not_end_is_replaced_once_nobody_uses_it(lab: Lab) -> None:
    client = Client(7, Channel(cast(Any, None), -1), "/logs")
    lab.worker._attempts["7/slow"] = cast(Any, Attempt(time.monotonic() - 1000, client))
    assert status(lab.address)["abandoned"] == 1
    assert lab.worker._is_stuck()
    assert lab.leave() == Ending("stuck")


def test_an_engine_whose_work_does_not_end_lets_nobody_in_and_keeps_those_who_are_in(lab: Lab) -> None:
    client, here = Client(7, Channel(cast(Any, None), -1), "/logs"), lab.attach()
    lab.worker._attempts["7/slow"] = cast(Any, Attempt(time.monotonic() - 1000, client))
    with ThreadPoolExecutor(1) as threads:
        leaving = threads.submit(lab.leave)
        while lab.door._refusal is None:
            time.sleep(0.01)
        with pytest.raises(Differs, match="does not end"):
            lab.attach()
        assert lab.ended.empty()
        here.stop(60.0)
        assert leaving.result(60) == Ending("stuck")


def test_an_engine_whose_work_did_not_end_in_time_ends_even_if_that_work_has_ended(lab: Lab) -> None:
    client, here = Client(7, Channel(cast(Any, None), -1), "/logs"), lab.attach()
    lab.worker._attempts["7/slow"] = cast(Any, Attempt(time.monotonic() - 1000, client))
    with ThreadPoolExecutor(1) as threads:
        leaving = threads.submit(lab.leave)
        while lab.door._refusal is None:
            time.sleep(0.01)
        assert status(lab.address)["refuses"] == "work that was cancelled does not end there"
        lab.worker._attempts.clear()
        here.stop(60.0)
        assert leaving.result(60) == Ending("stuck")


def test_work_that_was_cancelled_just_now_is_not_stuck(lab: Lab) -> None:
    client = Client(7, Channel(cast(Any, None), -1), "/logs")
    for name, since in (("gone", time.monotonic()), ("here", None)):
        lab.worker._attempts[name] = cast(Any, Attempt(since, client))
    assert not lab.worker._is_stuck()


def test_a_client_elsewhere_is_told_that_the_engine_is_not_outdated(lab: Lab) -> None:
    with pytest.raises(Differs, match="other secrets") as found:
        lab.attach(replace(WANTED, secrets=("T0K3N",)))
    assert not found.value.is_outdated


@pytest.mark.parametrize(("others", "kind"), [(False, EngineOutOfMemory), (True, EngineLost)])
def test_clients_hear_why_an_engine_is_lost(others: bool, kind: type[EngineLost], lab: Lab) -> None:
    lab.worker._door = lab.door
    lab.attach()
    assert isinstance(lab.said.get(timeout=60), Ready)
    (client,) = lab.door.clients()
    lab.worker._attempts["ours"] = cast(Any, Attempt(None, client))
    if others:
        lab.worker._attempts["theirs"] = cast(Any, Attempt(None, replace(client, number=99)))
    lab.worker._tell_clients("Java has ended", out_of_memory=True)
    cast(SocketChannel, client.channel)._hang_up()
    lost = lab.said.get(timeout=60)
    assert type(lost) is kind
    assert "ran out of memory" in lost.message
    lab.worker._attempts.clear()
