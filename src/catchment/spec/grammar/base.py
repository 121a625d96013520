"""What every part of the grammar has in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """A mapping of the dialect: camelCase keys, none unknown, a description on every field."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


def required(description: str) -> Any:
    """A field that must be given."""
    return Field(description=description)


def optional(description: str) -> Any:
    """A field that may be left out."""
    return Field(default=None, description=description)
