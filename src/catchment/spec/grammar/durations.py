"""Durations, which are written the same way in workflows and project files."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from catchment import timestamps


def refusal(code: str, message: str, hint: str | None = None) -> PydanticCustomError:
    """The error that a validator raises; `code` and `hint` go into the diagnostic unchanged."""
    return PydanticCustomError(code, "{message}", {"message": message, "hint": hint})


def duration(value: object) -> float:
    """Convert a duration to seconds; raises if the value is not a duration."""
    try:
        return timestamps.duration(str(value))
    except ValueError as error:
        hint = "write `10s`, `5m`, `1h30m` or a number of seconds"
        raise refusal("bad-duration", f"`{str(value).strip()}` is not a duration", hint) from error


Duration = Annotated[float, BeforeValidator(duration), WithJsonSchema({"type": ["string", "number"]})]
