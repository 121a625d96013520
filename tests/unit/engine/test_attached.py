"""The conversation with a resident engine, with a real socket and an engine that says what the test wants."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.engine import attached
from catchment.engine.attached import AttachedEngine, Differs, Door, NotThere, status
from catchment.engine.protocol import (
    Alive,
    AskStatus,
    Attach,
    Cancel,
    Command,
    Done,
    Facts,
    Ready,
    Reply,
    Stop,
    failure,
)
from catchment.engine.wire import command, encode
from catchment.errors import EngineLost, EngineOutOfMemory, RequestError
from catchment.plan.model import EnginePlan
from catchment.project.model import Engine

PLAN = EnginePlan("default", Engine("default"))
READY = Ready("4.1.2", "local-1", resident=True)


class Resident:
    """The other side: answers the first command of the next client, and then what it is told."""

    def __init__(self, directory: Path) -> None:
        self.door = Door(str(directory / "socket"), "token", directory / "engine.log")
        self.heard: queue.Queue[Command | None] = queue.Queue()
        self.said: queue.Queue[Reply | EngineLost] = queue.Queue()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.door.socket)
        self._listener.listen()
        self.connection: socket.socket | None = None

    def answers(self, *data: bytes) -> None:
        threading.Thread(target=self._serve, args=(b"".join(data),), daemon=True).start()

    def _serve(self, first: bytes) -> None:
        self.connection, _ = self._listener.accept()
        with self.connection.makefile("rb") as lines:
            self.heard.put(command(next(lines)))
            self.connection.sendall(first)
            for line in lines:
                self.heard.put(command(line))
        self.heard.put(None)

    def attach(self) -> AttachedEngine:
        wanted = Attach("token", PLAN, "/logs", (), {}, "1.0", "a test")
        return AttachedEngine.attach(wanted, self.door, lambda _, said: self.said.put(said))

    def hang_up(self) -> None:
        assert self.connection
        self.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        if self.connection:
            self.connection.close()


@pytest.fixture
def resident(tmp_path: Path) -> Iterator[Resident]:
    made = Resident(tmp_path)
    yield made
    made.close()


def test_a_conversation(resident: Resident) -> None:
    resident.answers(encode(Alive()), encode(READY), encode(Alive()), encode(Done("a", ())))
    engine = resident.attach()
    assert isinstance(resident.heard.get(timeout=60), Attach)
    assert [resident.said.get(timeout=60), resident.said.get(timeout=60)] == [READY, Done("a", ())]
    engine.send(Cancel("a"))
    assert resident.heard.get(timeout=60) == Cancel("a")
    threading.Thread(target=engine.stop, args=(60.0,)).start()
    assert resident.heard.get(timeout=60) == Stop()
    resident.hang_up()
    assert resident.heard.get(timeout=60) is None
    assert resident.said.empty()


def test_an_engine_that_ends_is_lost(resident: Resident) -> None:
    resident.answers(encode(READY))
    resident.attach()
    assert resident.said.get(timeout=60) == READY
    resident.hang_up()
    lost = resident.said.get(timeout=60)
    assert isinstance(lost, EngineLost)
    assert "engine.log" in (lost.hint or "")


def test_the_last_words_of_an_engine_say_why(resident: Resident) -> None:
    """Memory that one job alone has used up is that job's fault."""
    words = EngineOutOfMemory("it ran out of memory", hint="raise spark.driver.memory")
    resident.answers(encode(READY), encode(failure(words)))
    resident.attach()
    assert resident.said.get(timeout=60) == READY
    resident.hang_up()
    lost = resident.said.get(timeout=60)
    assert isinstance(lost, EngineOutOfMemory)
    assert lost.hint == "raise spark.driver.memory"


def test_nonsense_loses_the_engine(resident: Resident) -> None:
    resident.answers(encode(READY), b'{"kind": "gibberish"}\n')
    resident.attach()
    assert resident.said.get(timeout=60) == READY
    assert isinstance(resident.said.get(timeout=60), EngineLost)


def test_silence_loses_the_engine(resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "SILENCE_SECONDS", 0.3)
    resident.answers(encode(READY))
    resident.attach()
    assert resident.said.get(timeout=60) == READY
    lost = resident.said.get(timeout=60)
    assert isinstance(lost, EngineLost)
    assert "did not respond" in lost.message


def test_a_killed_conversation_ends_without_a_word(resident: Resident) -> None:
    resident.answers(encode(READY))
    engine = resident.attach()
    engine.kill()
    heard = [resident.heard.get(timeout=60) for _ in range(2)]
    assert isinstance(heard[0], Attach)
    assert heard[1] is None
    assert resident.said.get(timeout=60) == READY
    assert resident.said.empty()


def test_an_engine_that_differs_says_why(resident: Resident) -> None:
    resident.answers(encode(failure(RequestError("other depots (new)", code="resident-differs"))))
    with pytest.raises(Differs, match="other depots"):
        resident.attach()


@pytest.mark.parametrize("answer", [b'{"kind": "from-the-future"}\n', b"", encode(Facts("x", {}))])
def test_an_answer_that_is_none(answer: bytes, resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "SILENCE_SECONDS", 0.3)
    resident.answers(answer)
    with pytest.raises((Differs, NotThere)):
        resident.attach()


def test_nobody_is_there(tmp_path: Path) -> None:
    with pytest.raises(NotThere):
        status(Door(str(tmp_path / "socket"), "token", tmp_path))


def test_the_status_of_an_engine(resident: Resident) -> None:
    resident.answers(encode(Facts("status", {"jobs": 7})))
    assert status(resident.door, stay=True) == {"jobs": 7}
    assert resident.heard.get(timeout=60) == AskStatus("token", stay=True)
