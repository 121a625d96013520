"""Durations, which workflows and project files write in the same way."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def refusal(code: str, message: str, hint: str | None = None) -> PydanticCustomError:
    """The error that a validator raises; `code` and `hint` go into the diagnostic unchanged."""
    return PydanticCustomError(code, "{message}", {"message": message, "hint": hint})


def duration(value: object) -> float:
    """The seconds of a duration; raises if it is none."""
    text = str(value).strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise refusal(
            "bad-duration", f"`{text}` is not a duration", "write `10s`, `5m`, `1h30m` or a number of seconds"
        )
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


Duration = Annotated[float, BeforeValidator(duration), WithJsonSchema({"type": ["string", "number"]})]
