"""Messages of the protocol as lines of JSON, and back."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter

from catchment.engine.protocol import Command, Reply


# Adapters are made when they are first needed: that takes longer than most messages do.
@cache
def _commands() -> TypeAdapter[Command]:
    return TypeAdapter(Command)


@cache
def _replies() -> TypeAdapter[Reply]:
    return TypeAdapter(Reply)


@cache
def _writer(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def prepare() -> None:
    """Make every adapter now, in a process that is to be quick later."""
    _commands()
    _replies()
    for kind in get_args(get_args(Command)[0]):
        _writer(kind)


def command(line: bytes) -> Command:
    """The command in a line of JSON; raises ValidationError if there is none."""
    return _commands().validate_json(line)


def reply(line: bytes) -> Reply:
    """The reply in a line of JSON; raises ValidationError if there is none."""
    return _replies().validate_json(line)


def encode(message: Command | Reply) -> bytes:
    """A message as one line of JSON."""
    kind: Any = type(message)
    return _writer(kind).dump_json(message) + b"\n"
