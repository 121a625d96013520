"""Turns pydantic's errors into diagnostics with a code, the exact position and a hint.

Also defines the scalar types of YAML models: `Text` takes numbers and booleans as they were written; `Flag` and
`Whole` do not accept other types by accident.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from catchment.errors import Diagnostic, Position
from catchment.spec.tree import Found, MapNode, Node, WrittenFloat, WrittenInt, plain

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

_TEXT = ("text", "write text, in quotes if need be")
_LIST = ("a list", "write one item per line, each behind `- `")
_MAPPING = ("a mapping", "write `key: value` lines, indented below it")
_WANTED = {
    "string": _TEXT,
    "bool": ("`true` or `false`", "write `true` or `false`"),
    "int": ("a whole number", "write a number such as 2"),
    "float": ("a number", "write a number such as 1.5"),
    "list": _LIST,
    "tuple": _LIST,
    "dict": _MAPPING,
    "mapping": _MAPPING,
    "model": _MAPPING,
}
"""What each kind of pydantic type error expects, and how to write it."""


def _as_written(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.written if isinstance(value, (WrittenInt, WrittenFloat)) else value


def _as_flag(value: object) -> object:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise PydanticCustomError("bool_type", "not a boolean")
    return value


def _as_number(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "not a number")
    return value


Text = Annotated[str, BeforeValidator(_as_written), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""Text; a number or boolean counts as the text that was written."""
Flag = Annotated[bool, BeforeValidator(_as_flag), WithJsonSchema({"type": ["boolean", "string"]})]
"""`true` or `false`, quoted or not."""
Whole = Annotated[int, BeforeValidator(_as_number)]
"""A whole number, quoted or not."""


def parse(model: type[Model], node: Node, key_where: Position | None = None) -> tuple[Model | None, list[Diagnostic]]:
    """Validate a value; unknown keys are reported without hiding other problems.

    `key_where` is the position of the value's own key, where a missing field is reported.
    """
    value = plain(node)
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        found = diagnostics(error, node, model, key_where)
        unknown = [detail["loc"] for detail in error.errors() if detail["type"] == "extra_forbidden"]
    for location in unknown:
        _remove(value, location)
    try:
        return model.model_validate(value), found
    except ValidationError:
        return None, found


def diagnostics(
    error: ValidationError, node: Node, model: type[BaseModel], key_where: Position | None = None
) -> list[Diagnostic]:
    """Every error of a failed validation of `node` as `model`, in the order of the file."""
    root = Found(node, key_where or node.where)
    found = {_diagnostic(detail, root, model) for detail in error.errors(include_url=False)}
    return sorted(found, key=lambda diagnostic: (diagnostic.where or node.where, diagnostic.code))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint with the known word that is closest to an unknown one; None if none is close."""
    spellings = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), spellings, n=1, cutoff=0.6)
    return f"did you mean `{spellings[close[0]]}`?" if close else None


def _diagnostic(detail: ErrorDetails, root: Found, model: type[BaseModel]) -> Diagnostic:
    kind = detail["type"]
    describe = _SPECIAL.get(kind)
    if describe:
        return describe(detail, root, model)
    if kind.endswith(("_type", "_parsing", "_from_float")) and kind.split("_")[0] in _WANTED:
        return _wrong_type(detail, root)
    code = kind if "-" in kind else "bad-value"
    hint = detail.get("ctx", {}).get("hint")
    return Diagnostic(code, _sentence(detail), root.follow(detail["loc"]).node.where, hint)


def _wrong_type(detail: ErrorDetails, root: Found) -> Diagnostic:
    location = detail["loc"]
    wanted, hint = _WANTED[detail["type"].split("_")[0]]
    owner = f"`{_name(location)}` wants {wanted}" if location else f"{wanted} is wanted here"
    message = f"{owner}, not {_kind(detail['input'])}"
    return Diagnostic("wrong-type", message, root.follow(location).node.where, hint)


def _missing(detail: ErrorDetails, root: Found, model: type[BaseModel]) -> Diagnostic:
    *above, key = detail["loc"]
    found = root.follow(above)
    owner = _owner(above)
    hint = f"add `{key}:`" + (f" to `{owner}`" if owner else "")
    return Diagnostic("missing-field", f"`{key}` is missing" + (f" in `{owner}`" if owner else ""), _at(found), hint)


def _unknown(detail: ErrorDetails, root: Found, model: type[BaseModel]) -> Diagnostic:
    *above, key = detail["loc"]
    known = _keys_at(model, above)
    hint = did_you_mean(str(key), known) or f"known keys are {', '.join(known)}"
    return Diagnostic("unknown-key", f"unknown key `{key}`", root.follow(detail["loc"]).key_where, hint)


def _choice(detail: ErrorDetails, root: Found, model: type[BaseModel]) -> Diagnostic:
    expected = detail.get("ctx", {}).get("expected", "")
    known = [word.strip("' ") for word in expected.replace(" or ", ", ").split(",")]
    message = f"`{_name(detail['loc'])}` cannot be {_kind(detail['input'])}"
    hint = did_you_mean(str(detail["input"]), known) or f"use one of {', '.join(known)}"
    return Diagnostic("bad-value", message, root.follow(detail["loc"]).node.where, hint)


def _too_small(detail: ErrorDetails, root: Found, model: type[BaseModel]) -> Diagnostic:
    least = detail.get("ctx", {}).get("ge")
    message = f"`{_name(detail['loc'])}` cannot be {_kind(detail['input'])}"
    return Diagnostic("bad-value", message, root.follow(detail["loc"]).node.where, f"it is at least {least}")


def _too_short(detail: ErrorDetails, root: Found, model: type[BaseModel]) -> Diagnostic:
    name = _name(detail["loc"])
    return Diagnostic("bad-value", f"`{name}` is empty", root.follow(detail["loc"]).node.where, "add at least one item")


_SPECIAL: Mapping[str, Callable[[ErrorDetails, Found, type[BaseModel]], Diagnostic]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "literal_error": _choice,
    "greater_than_equal": _too_small,
    "too_short": _too_short,
}


def _at(found: Found) -> Position:
    """A mapping is reported at its key; an item of a list at its first key."""
    return found.key_where if isinstance(found.node, MapNode) else found.node.where


def _owner(location: Sequence[str | int]) -> str | None:
    return next((part for part in reversed(location) if isinstance(part, str)), None)


def _name(location: Location) -> str:
    *_, last = location or ("value",)
    return f"{_owner(location)}[{last}]" if isinstance(last, int) else str(last)


def _kind(value: object) -> str:
    if value is None:
        return "an empty value"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return f"`{_as_written(value)}`"


def _sentence(detail: ErrorDetails) -> str:
    message = detail["msg"]
    return message if "-" in detail["type"] else f"`{_name(detail['loc'])}`: {message[:1].lower()}{message[1:]}"


def _keys_at(model: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    """The keys that the model knows at a path."""
    annotation: Any = model
    for part in path:
        annotation = _below(annotation, part) or annotation
    found = next(_models(annotation), None)
    return [field.alias or name for name, field in found.model_fields.items()] if found else []


def _below(annotation: Any, part: str | int) -> Any:
    """The type of the value under a key or index of a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}
        return fields.get(str(part))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType, Annotated):
        return next((below for choice in arguments if (below := _below(choice, part))), None)
    return arguments[-1] if origin and arguments and origin is not tuple else (arguments or (None,))[0]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _remove(value: Any, location: Location) -> None:
    """Remove the value at a location from plain data."""
    *above, key = location
    for part in above:
        if isinstance(part, int) or part in value:
            value = value[part]
    value.pop(key, None)
