"""The hub redacts once, keeps the order, outlives its sinks and waits for none of them."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path

import pytest

from catchment.events.hub import BACKLOG, Event, Hub
from catchment.events.sinks import JsonLines
from catchment.project.secrets import Redactor
from tests.concurrency.waiting import until


class Kept:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed = 0

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed += 1


class Broken(Kept):
    def emit(self, event: Event) -> None:
        super().emit(event)
        raise OSError("disk full")

    def close(self) -> None:
        super().close()
        raise OSError("disk still full")


def _hub(*secrets: str) -> Hub:
    return Hub("r1", Redactor(secrets))


def test_every_sink_gets_every_event_in_order() -> None:
    hub, sinks = _hub(), [Kept(), Kept()]
    hub.emit("run-started", data={"n": 0})
    hub.open(sinks)
    for n in range(1, 50):
        hub.emit("job-note", job="a", attempt=1, engine="default", data={"n": n})
    hub.close()
    for sink in sinks:
        assert [event.data["n"] for event in sink.events] == list(range(50))
        assert sink.closed == 1
    last = sinks[0].events[-1]
    assert (last.run_id, last.kind, last.job, last.attempt, last.engine) == ("r1", "job-note", "a", 1, "default")
    assert last.at.tzinfo is not None


def test_secrets_reach_no_sink() -> None:
    hub, sink = _hub("hunter22"), Kept()
    hub.open([sink])
    hub.emit("job-failed", job="a", data={"error": {"message": "password hunter22 refused"}})
    hub.close()
    assert sink.events[0].data == {"error": {"message": "password *** refused"}}


def test_a_sink_that_fails_is_dropped_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    hub, broken, sink = _hub(), Broken(), Kept()
    hub.open([broken, sink])
    with caplog.at_level(logging.WARNING):
        hub.emit("run-started")
        hub.emit("run-finished")
        hub.close()
    assert (len(broken.events), broken.closed) == (1, 1)
    assert [event.kind for event in sink.events] == ["run-started", "run-finished"]
    assert "Broken" in caplog.text


class Stuck(Kept):
    """A sink that stands still until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()

    def emit(self, event: Event) -> None:
        self.goes_on.wait()
        super().emit(event)


def test_a_sink_that_stands_still_holds_up_nobody_and_misses_nothing() -> None:
    hub, stuck, sink = _hub(), Stuck(), Kept()
    hub.open([stuck, sink])
    for n in range(50):
        hub.emit("job-note", data={"event": "warning", "n": n})
    until(lambda: len(sink.events) == 50)
    assert stuck.events == []
    stuck.goes_on.set()
    hub.close()
    assert stuck.events == sink.events


def test_of_progress_a_sink_that_stands_still_gets_only_so_much() -> None:
    hub, stuck = _hub(), Stuck()
    hub.open([stuck])
    for n in range(2 * BACKLOG):
        hub.emit("job-note", data={"event": "progress", "done": n, "total": 2 * BACKLOG})
    hub.emit("run-finished")
    stuck.goes_on.set()
    hub.close()
    assert BACKLOG < len(stuck.events) <= BACKLOG + 2
    assert stuck.events[-1].kind == "run-finished"


def test_closing_twice_and_closing_what_never_opened_is_harmless() -> None:
    hub, sink = _hub(), Kept()
    hub.close()
    hub.open([sink])
    hub.close()
    hub.close()
    assert sink.closed == 1


def test_json_lines_are_appended_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for kind in ("run-started", "run-finished"):
        hub = _hub()
        hub.open([JsonLines(path)])
        hub.emit(kind, data={"jobs": ["a"]})
        hub.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["run-started", "run-finished"]
    assert lines[0]["data"] == {"jobs": ["a"]}
    assert lines[0]["at"].endswith("Z")
