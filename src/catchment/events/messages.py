"""Turns events into the messages that the console prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from catchment.events.hub import Event, EventKind


def seconds(value: float) -> str:
    """A duration as people read it: 4.2 s, 3 min 07 s, 2 h 05 min."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(int(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def error_paragraph(error: Mapping[str, Any]) -> str:
    """An error as text: what happened, where, and what to do next."""
    lines = [f"error[{error['code']}]: {error['message']}"]
    if error.get("file"):
        lines.append(f"    at {error['file']}:{error['line']}:{error['column']}")
    if error.get("hint"):
        lines.append(f"    hint: {error['hint']}")
    return "\n".join(lines)


def written(outputs: Any) -> str:
    """A summary of what a job wrote."""
    return ", ".join(_output(output) for output in outputs)


def _output(output: Mapping[str, Any]) -> str:
    rows, files = output.get("rows"), output.get("files")
    counts = [_count(number, unit) for number, unit in ((rows, "row"), (files, "file")) if number is not None]
    return f"{output['dataset']} ({', '.join(counts)})" if counts else str(output["dataset"])


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def sentence(event: Event) -> str | None:
    """The message of an event, without the name of its job; None if it has no message."""
    describe = _MESSAGES.get(event.kind)
    return describe(event) if describe else None


def _started(event: Event) -> str:
    return "started" if event.attempt == 1 else f"started, attempt {event.attempt}"


def _note(event: Event) -> str | None:
    match event.data.get("event"):
        case "warning":
            return f"warning: {event.data.get('message', '')}"
        case "window":
            values = ", ".join(f"{key} = {value}" for key, value in event.data["values"].items())
            return f"input {event.data['name']}: {values}"
        case "bad-rows":
            return _bad_rows(event.data)
        case "waiting-for-memory":
            return _waiting_for_memory(event.data)
        case "admitted":
            return f"has memory now, after {seconds(event.data['seconds'])}"
        case "batch":
            return batch_words(event.data)
        case "nothing-new":
            return f"nothing new since {event.data['since']}" if event.data["since"] else "nothing new"
    return None


def _waiting_for_memory(data: Mapping[str, Any]) -> str:
    used, most = (data[key] // 2**20 for key in ("heap_used", "heap_most"))
    return f"waiting for memory: {used} of {most} MB of heap are in use, {_count(data['running'], 'job')} at work"


def batch_words(data: Mapping[str, Any]) -> str:
    """What a stream tells of a batch."""
    lag = "".join(f", {name} {value}" for name, value in data["lag"].items())
    speed = f"{data['rows_per_second']:,.0f} rows/s"
    return f"{data['name']}: batch {data['batch']}: {_count(data['rows'], 'row')} in {data['seconds']} s, {speed}{lag}"


def _bad_rows(data: Mapping[str, Any]) -> str | None:
    if data["policy"] == "fail":
        return None  # the error of the job says more
    what = f"written to {data['quarantine']}" if data.get("quarantine") else "dropped"
    return f"warning: input {data['name']}: {_count(data['rows'], 'bad row')} {what}"


def _retrying(event: Event) -> str:
    after = f"in {seconds(event.data['pause'])}" if event.data["pause"] else "now"
    return f"attempt {event.attempt} failed, next one {after}: {error_paragraph(event.data['error'])}"


def _succeeded(event: Event) -> str:
    what = written(event.data["outputs"])
    if event.data.get("kept"):
        return "kept, as it succeeded before" + (f": {what}" if what else "")
    return f"succeeded in {seconds(event.data['seconds'])}" + (f": {what}" if what else "")


def _failed(event: Event) -> str:
    return f"failed after {seconds(event.data['seconds'])}: {error_paragraph(event.data['error'])}"


def _run_started(event: Event) -> str:
    verb = "resumed" if event.data.get("resumed") else "started"
    return f"{event.data['workflow']}: run {event.run_id} {verb}, {_count(len(event.data['jobs']), 'job')}"


def _ready(event: Event) -> str:
    how = "resident, " if event.data.get("resident") else ""
    return f"engine {event.engine}: {how}ready after {seconds(event.data['seconds'])}"


def _starting(event: Event) -> str | None:
    """None while a resident engine is looked for; later events report what was found or started."""
    return None if event.data.get("resident") else f"engine {event.engine}: starting Spark {event.data['spark']}"


_MESSAGES: Mapping[EventKind, Callable[[Event], str | None]] = {
    "run-started": _run_started,
    "run-finished": lambda event: f"run {event.run_id} {event.data['status']} in {seconds(event.data['seconds'])}",
    "engine-starting": _starting,
    "engine-preparing": lambda event: f"engine {event.engine}: {event.data['message']}",
    "engine-ready": _ready,
    "engine-lost": lambda event: f"engine {event.engine}: {error_paragraph(event.data['error'])}",
    "job-started": _started,
    "job-note": _note,
    "job-retrying": _retrying,
    "job-succeeded": _succeeded,
    "job-failed": _failed,
    "job-skipped": lambda event: f"skipped, because {event.data['because']} did not succeed",
    "job-cancelled": lambda event: "cancelled",
}
