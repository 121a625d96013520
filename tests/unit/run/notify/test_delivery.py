"""One message to one hook: it is tried again where that can help, and what came of it is told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catchment.run.notify.delivery import PAUSES, deliver
from tests.concurrency.waiting import until
from tests.unit.run.notify.receiver import Receiver, receiving

MESSAGE = {"event": "run-failed", "text": "run r1 of flow failed"}


@pytest.fixture(scope="module")
def server() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def receiver(server: Receiver) -> Receiver:
    server.messages.clear()
    server.answers.clear()
    return server


def told(root: Path, **hook: Any) -> dict[str, Any]:
    return {"hook": {"name": "h", "webhook": None, "command": [], **hook}, "message": MESSAGE, "root": str(root)}


def test_a_webhook_gets_the_message(receiver: Receiver, tmp_path: Path) -> None:
    assert deliver(told(tmp_path, webhook=receiver.url)) == "delivered, answer 200"
    assert receiver.messages == [MESSAGE]


def test_a_server_in_trouble_is_asked_again_and_one_that_refuses_is_not(receiver: Receiver, tmp_path: Path) -> None:
    pauses: list[float] = []
    receiver.answers += [500, 429]
    assert deliver(told(tmp_path, webhook=receiver.url), pauses.append) == "delivered, answer 200"
    assert (len(receiver.messages), pauses) == (3, [0.0, *PAUSES[:2]])
    receiver.answers += [404]
    assert deliver(told(tmp_path, webhook=receiver.url), pauses.append) == "refused: answer 404"
    assert len(receiver.messages) == 4


@pytest.mark.parametrize("code", [301, 302, 303, 307])
def test_a_redirect_is_no_delivery(code: int, receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers += [code]
    assert deliver(told(tmp_path, webhook=receiver.url)) == f"refused: answer {code}"
    assert receiver.messages == [MESSAGE]


def test_nobody_is_there(tmp_path: Path) -> None:
    with receiving() as receiver:
        url = receiver.url
    assert deliver(told(tmp_path, webhook=url), lambda _: None).startswith("not delivered: ")


def test_a_command_gets_the_message_in_the_directory_of_the_project(tmp_path: Path) -> None:
    copies = "import pathlib, sys; pathlib.Path('got.json').write_text(sys.stdin.read())"
    assert deliver(told(tmp_path, command=[sys.executable, "-c", copies])) == "delivered"
    assert json.loads((tmp_path / "got.json").read_text()) == MESSAGE
    fails = [sys.executable, "-c", "import sys; print('no such channel', file=sys.stderr); sys.exit(3)"]
    assert deliver(told(tmp_path, command=fails)) == "refused: exit code 3 no such channel"
    missing = deliver(told(tmp_path, command=["./no-such-program"]), lambda _: None)
    assert missing.startswith("not delivered: ")


def test_a_command_that_does_not_end_is_killed_with_what_it_has_started_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"

    class Impatient(subprocess.Popen[bytes]):
        """Gives a command no time, but only once it has begun."""

        def communicate(self, data: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
            until(started.exists)
            return super().communicate(data, 0.01)

    monkeypatch.setattr(subprocess, "Popen", Impatient)
    hangs = ["sh", "-c", "sleep 1000 & echo $! > here; cat here >> all; mv here started; wait"]
    assert deliver(told(tmp_path, command=hangs), lambda _: None).startswith("refused: the command did not end")
    (child,) = (tmp_path / "all").read_text().split()
    command_line = Path(f"/proc/{child}/cmdline")  # empty for what has ended and was not asked for yet
    until(lambda: not command_line.exists() or not command_line.read_bytes())
