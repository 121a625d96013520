"""Hooks hear of failed and late runs and of dead services, through real processes and a real web server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from catchment import run
from catchment.errors import LeaseHeld, RequestError, SetupError
from catchment.project.model import Hook, HookEvent
from catchment.run.leases import held_lease
from catchment.run.notify.dead_services import DeadServices
from catchment.run.notify.message import Message
from catchment.run.notify.sending import LOG, Notifier
from catchment.run.services import processes
from catchment.store import open_store
from catchment.store.services import ServiceOrder, service_lease
from tests.concurrency.waiting import until
from tests.unit.run.conftest import Lab, job
from tests.unit.run.notify.receiver import Receiver, receiving

SENDS_AND_ENDS = """
import json, os, sys
from catchment.run.notify.message import Message
from catchment.run.notify.sending import Notifier
notifier = Notifier.decoded(json.loads(sys.stdin.read()))
notifier.send(Message("run-failed", "no" * 150_000, "/"), notifier.hooks)
os._exit(0)
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


def hooked(lab: Lab, receiver: Receiver, *on: HookEvent, late_after: float | None = None) -> Lab:
    """The lab with a hook; its address is a secret, as in a project file."""
    hook = Hook("oncall", receiver.url, on=on, late_after=late_after)
    secrets = (*lab.project.secrets, receiver.url)
    return replace(lab, project=replace(lab.project, notify=(hook,), secrets=secrets))


def log_of(lab: Lab) -> str:
    file = lab.project.home / LOG
    until(lambda: file.exists() and file.read_text().endswith("\n"))
    return file.read_text()


def test_a_run_that_fails_is_told(lab: Lab, receiver: Receiver) -> None:
    lab = hooked(lab, receiver, "run-failed")
    failed = lab.run(job("a", "fail job"), job("b", "", "a"), envs={"SAYS": "hunter22"})
    (message,) = receiver.wait()
    assert list(message) == [*Message.__dataclass_fields__]
    assert (message["event"], message["run_id"], message["status"]) == ("run-failed", failed.run_id, "failed")
    assert message["text"].startswith(f"run {failed.run_id} of flow failed after ")
    assert message["errors"] == [{"job": "a", "code": "script-job", "message": "it said no, ***", "hint": "mend it"}]
    assert message["next"] == f"catchment resume {failed.run_id}"
    log = log_of(lab)
    assert log.endswith("hook oncall: run-failed: delivered, answer 200\n")
    assert "T0K3N" not in log


def test_a_run_that_succeeds_is_told_only_to_those_who_asked(lab: Lab, receiver: Receiver) -> None:
    lab = hooked(lab, receiver, "run-failed")
    lab.run(job("a"))
    asked = lab.run(job("a"), notify=["oncall"])
    (message,) = receiver.wait()
    assert (message["event"], message["run_id"], message["next"]) == ("run-finished", asked.run_id, None)


def test_whoever_asked_hears_of_a_failure_once(lab: Lab, receiver: Receiver) -> None:
    hooked(lab, receiver, "run-failed").run(job("a", "fail job"), notify=["oncall"])
    assert [message["event"] for message in receiver.wait()] == ["run-failed"]


def test_a_run_that_does_not_begin_is_told(lab: Lab, receiver: Receiver) -> None:
    lab = hooked(lab, receiver, "run-failed")
    done = lab.run(job("a"))
    (lab.root / ".catchment" / "metastore.db").write_text("damaged")
    with pytest.raises(SetupError):
        lab.run(job("a"))
    receiver.wait()
    with pytest.raises(SetupError):
        run.resume(done.run_id, lab.project, notify=["oncall"])
    started, resumed = receiver.wait(2)
    assert [started["status"], resumed["run_id"]] == ["failed", done.run_id]
    assert " of flow did not begin: " in started["text"]
    assert [error["code"] for error in (*started["errors"], *resumed["errors"])] == ["metastore-damaged"] * 2


@pytest.mark.parametrize("asked", ["wrongly", "twice"])
def test_who_asks_for_a_run_that_cannot_begin_hears_it_alone(
    asked: str, lab: Lab, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Message] = []
    failed = hooked(lab, receiver).run(job("a", "fail job")).run_id
    monkeypatch.setattr(Notifier, "send", lambda _, message, hooks: told.append(message))
    lab = hooked(lab, receiver, "run-failed")
    refusal = RequestError if asked == "wrongly" else LeaseHeld
    with open_store(lab.project.metastore) as store, held_lease(store, failed, 60.0), pytest.raises(refusal):
        run.resume("nobody" if asked == "wrongly" else failed, lab.project)
    assert told == []


def test_a_hook_that_hangs_holds_up_no_run(lab: Lab, receiver: Receiver) -> None:
    receiver.open.clear()
    assert hooked(lab, receiver, "run-failed").run(job("a", "fail job")).status == "failed"  # it has returned
    receiver.wait()
    receiver.open.set()
    assert "delivered" in log_of(lab)


def test_a_run_that_is_late_is_told_while_it_runs(lab: Lab, receiver: Receiver) -> None:
    go_on = lab.root / "go-on"
    late = hooked(lab, receiver, "run-late", late_after=0.1)
    results: list[run.Run] = []
    thread = threading.Thread(target=lambda: results.append(late.run(job("a", f"until {go_on}"))))
    thread.start()
    (message,) = receiver.wait()
    go_on.touch()
    thread.join()
    assert (message["event"], message["status"], results[0].status) == ("run-late", "running", "succeeded")
    hooked(lab, receiver, "run-late", late_after=600).run(job("a"))
    assert len(receiver.messages) == 1


def test_an_unknown_hook_is_refused_before_anything_starts(lab: Lab, receiver: Receiver) -> None:
    with pytest.raises(RequestError) as caught:
        hooked(lab, receiver).run(job("a"), notify=["onkall"])
    assert (caught.value.code, caught.value.hint) == ("unknown-hook", "did you mean `oncall`?")
    assert lab.trace() == []


def test_a_dead_service_is_told_once_by_whoever_looks(lab: Lab, receiver: Receiver) -> None:
    notifier = Notifier.of(hooked(lab, receiver, "service-dead").project)
    with open_store(lab.project.metastore) as store:
        alive, dead = ("alive", processes.this_process("me")), ("dead", replace(processes.this_process("me"), born=1))
        for name, supervisor in (alive, dead):
            lease = store.leases.acquire(service_lease(name), supervisor.owner, 600)
            store.services.begin(lease, ServiceOrder(name, "schedule", ("schedule",), "/", "/log"), supervisor)
        for _ in range(2):
            DeadServices(store, notifier).look()
    (message,) = receiver.wait()
    assert (message["event"], message["service"], message["status"]) == ("service-dead", "dead", "dead")
    assert message["next"] == "catchment services restart dead"
    assert log_of(lab).count("\n") == 1


def test_instructions_survive_the_way_to_another_process(lab: Lab, receiver: Receiver) -> None:
    notifier = Notifier.of(hooked(lab, receiver, "run-late", late_after=5).project)
    again: dict[str, Any] = json.loads(json.dumps(asdict(notifier)))
    assert Notifier.decoded(again) == notifier


def test_no_message_has_a_secret(lab: Lab, receiver: Receiver) -> None:
    notifier = Notifier.of(hooked(lab, receiver, "run-failed").project)
    notifier.send(Message("run-failed", "it broke off: hunter22 was wrong", "/"), notifier.on("run-failed"))
    assert receiver.wait()[0]["text"] == "it broke off: *** was wrong"


def test_a_long_message_outlives_the_process_that_sends_it(lab: Lab, receiver: Receiver) -> None:
    notifier = json.dumps(asdict(Notifier.of(hooked(lab, receiver, "run-failed").project)))
    subprocess.run([sys.executable, "-c", SENDS_AND_ENDS], input=notifier, text=True, check=True)
    (message,) = receiver.wait()
    assert message["text"] == "no" * 150_000
    assert "delivered" in log_of(lab)


def test_nobody_is_told_where_nobody_wants_to_hear(lab: Lab) -> None:
    lab.run(job("a", "fail job"))
    assert not (Path(lab.project.home) / LOG).exists()
