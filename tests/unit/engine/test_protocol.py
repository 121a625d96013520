"""Messages survive the crossing."""

from __future__ import annotations

import io
import os

from catchment.engine.protocol import Facts, Failed, Note, Reply, Rows, Start, failure
from catchment.engine.wire import command, encode, reply
from catchment.errors import JobError, Position, Retryable, SetupError
from catchment.plan.model import EnginePlan
from catchment.project.model import Catalog, Depot, Engine
from catchment.worker.channel import Channel


def test_a_command_comes_back_as_it_was() -> None:
    depot = Depot("lake", "iceberg", "/lake", Catalog(properties={"a": "b"}), where=Position("f", 1, 2))
    start = Start(EnginePlan("k", Engine("e", packages=("a:b:c",)), depots=(depot,)), ("j",), "/logs", "/tmp/x", ("s",))
    assert command(encode(start)) == start


def test_errors_keep_what_matters() -> None:
    failed = failure(JobError("m", code="c", hint="h", where=Position("f", 1, 2), detail="d"), "a")
    assert failed == Failed("a", "c", "m", retryable=False, hint="h", where=Position("f", 1, 2), detail="d")
    assert failure(Retryable("m")).retryable
    assert failure(SetupError("m")).setup


def sent(message: Reply, *secrets: str) -> Reply:
    reading, writing = os.pipe()
    channel = Channel(io.BytesIO(), writing)
    channel.redact(secrets)
    channel.send(message)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        return reply(stream.read())


def test_secrets_are_blacked_out_on_the_way() -> None:
    failed = Failed("note-a", "c", "say hunter22", retryable=False, hint="hunter22", detail="x hunter22")
    assert sent(failed, "hunter22") == Failed("note-a", "c", "say ***", retryable=False, hint="***", detail="x ***")
    assert sent(Facts("a", {"k": ["hunter22"]}), "hunter22") == Facts("a", {"k": ["***"]})
    assert sent(Note("a", "step", {"name": "hunter22"}), "hunter22") == Note("a", "step", {"name": "***"})


def test_rows_and_the_frame_of_a_message_are_left_alone() -> None:
    rows = Rows("a", ("c",), ('"string"',), ('["hunter22"]',))
    assert sent(rows, "hunter22") == rows
    assert sent(Note("note", "step"), "note", "step") == Note("note", "step")
