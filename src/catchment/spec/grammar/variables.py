"""The grammar of a variable in `vars`, of workflows and of projects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from catchment.spec.grammar.durations import refusal
from catchment.spec.grammar.fields import Part, optional
from catchment.spec.validation import Text

VariableType = Literal["text", "integer", "number", "boolean", "date", "timestamp"]


def _scalar(value: object) -> object:
    if isinstance(value, dict | list):
        raise refusal("wrong-type", "the default of a variable is a single value", "write text, a number or a boolean")
    return value


Scalar = Annotated[Any, BeforeValidator(_scalar), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]


class Variable(Part):
    """A variable that `${NAME}` stands for; a plain value alone is its default."""

    type: VariableType | None = optional(
        "The type of its values: text, integer, number, boolean, date or timestamp; that of the default if left out."
    )
    default: Scalar = optional("Its value where nothing else is given; without it, a value must be given.")
    description: Text | None = optional("What the variable is for.")


_NAMES = {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
_PLAIN = {"type": ["string", "number", "boolean", "null"]}
Variables = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": _NAMES,
            "additionalProperties": {"anyOf": [_PLAIN, {"$ref": "#/definitions/Variable"}]},
        }
    ),
]
"""A section of variables. Each is read on its own, so that an invalid one does not hide problems in the others."""
