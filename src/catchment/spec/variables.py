"""Variables of workflows and projects: what `vars` declares, and the value that each has in one run.

A value is text in the canonical form of its type, because it replaces `${NAME}` in a text and is recorded with the
run. Since it is recorded, a variable never holds a secret.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from catchment.errors import Diagnostic, Position
from catchment.spec.findings import Findings
from catchment.spec.grammar.variables import Variable as Entry
from catchment.spec.grammar.variables import VariableType
from catchment.spec.tree import Entry as TreeEntry
from catchment.spec.tree import MapNode, Node, ScalarNode, WrittenFloat, WrittenInt
from catchment.spec.validation import did_you_mean, parse
from catchment.spec.variable_value import Value
from catchment.timestamps import as_written

if TYPE_CHECKING:
    from catchment.spec.references import References

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LOOKS_SECRET = re.compile(r"(?:.*_)?(?:PASSWORD|TOKEN|KEY|SECRET)", re.IGNORECASE)
"""Names that secrets usually have."""


@dataclass(frozen=True)
class Variable:
    """A declared variable."""

    name: str
    where: Position
    type: VariableType = "text"
    default: str | None = None
    """In canonical form; None if a value must be given."""
    description: str | None = None


def read_variables(node: Node | None, findings: Findings) -> dict[str, Variable]:
    """The variables that a `vars` section declares; those that cannot be read are reported and left out."""
    if not isinstance(node, MapNode):
        return {}  # the grammar reports anything but a mapping
    found = (_variable(name, entry, findings) for name, entry in node.entries.items())
    return {variable.name: variable for variable in found if variable}


def filled(node: Node | None, references: References) -> Node | None:
    """A `vars` section with its references filled in; a variable that refers to a secret is reported and left out."""
    if not isinstance(node, MapNode):
        return node
    entries: dict[str, TreeEntry] = {}
    for name, entry in node.entries.items():
        known = len(references.secrets)
        entries[name] = TreeEntry(entry.where, references.fill(entry.node))
        if len(references.secrets) > known:
            message = f"the variable `{name}` contains a secret, and variables are recorded and shown"
            hint = "write `${secret:NAME}` or `${file:PATH}` where the secret is needed"
            references.findings.error("secret-in-variable", message, entry.where, hint)
            del entries[name]
    return MapNode(node.where, entries)


def names_in(node: Node | None) -> frozenset[str]:
    """The names in a `vars` section, including those whose declaration is wrong."""
    return frozenset(node.entries) if isinstance(node, MapNode) else frozenset()


def values_of(
    declared: Mapping[str, Variable], given: Mapping[str, str], findings: Findings, *, source: str = "--var"
) -> dict[str, Value]:
    """The value of each declared variable: the given one, or else its default. Reports variables without a value."""
    return {
        name: value
        for name, variable in declared.items()
        if (value := _value(variable, given.get(name), findings, source)) is not None
    }


def unknown(given: Mapping[str, str], *declared: Mapping[str, object]) -> Iterator[Diagnostic]:
    """An error for each value that is given to an undeclared variable."""
    known = sorted({name for each in declared for name in each})
    for name in (each for each in given if each not in known):
        listed = f"variables are {', '.join(known)}" if known else "add it to `vars` of the workflow"
        yield Diagnostic(
            "unknown-variable", f"there is no variable `{name}`", None, did_you_mean(name, known) or listed
        )


def canonical(text: str, kind: VariableType) -> Value:
    """Convert a text to a value of a type; raises ValueError if it is not one."""
    return _CANONICAL[kind](text.strip() if kind != "text" else text)


def _variable(name: str, entry: TreeEntry, findings: Findings) -> Variable | None:
    if not NAME.fullmatch(name):
        hint = "begin with a letter or `_`, then letters, digits and `_`"
        findings.error("bad-variable-name", f"`{name}` cannot name a variable", entry.where, hint)
        return None
    if LOOKS_SECRET.fullmatch(name):
        message = f"{name} looks like a secret, and variables are recorded and shown"
        findings.warning("plain-secret", message, entry.where, f"write ${{secret:{name}}} where it is needed")
    given = _spelled_out(entry)
    parsed, problems = parse(Entry, given, entry.where)
    findings.extend(problems)
    if parsed is None:
        return None
    default = given.get("default") if isinstance(given, MapNode) else None
    kind = parsed.type or _type_of(default)
    if not isinstance(default, ScalarNode) or default.value is None:
        return Variable(name, entry.where, kind, description=parsed.description)
    try:
        value = canonical(default.text, kind)
    except ValueError:
        findings.error(*_not_a(name, kind, default.text), default.where, _EXAMPLES[kind])
        return None
    return Variable(name, entry.where, kind, value.text, parsed.description)


def _spelled_out(entry: TreeEntry) -> Node:
    """The declaration of a variable as a mapping, even if only its default is given."""
    if isinstance(entry.node, MapNode):
        return entry.node
    return MapNode(entry.node.where, {"default": TreeEntry(entry.where, entry.node)})


def _type_of(default: Node | None) -> VariableType:
    value = default.value if isinstance(default, ScalarNode) else None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "text"


def _value(variable: Variable, given: str | None, findings: Findings, source: str) -> Value | None:
    if given is None and variable.default is None:
        hint = f"give it one: --var {variable.name}=VALUE, `vars` of an environment, or a `default`"
        findings.error("variable-not-set", f"the variable `{variable.name}` has no value", variable.where, hint)
        return None
    text = str(variable.default if given is None else given)
    try:
        return canonical(text, variable.type)
    except ValueError:
        code, message = _not_a(variable.name, variable.type, text)
        findings.error(code, f"{source}: {message}", variable.where, _EXAMPLES[variable.type])
        return None


def _not_a(name: str, kind: VariableType, text: str) -> tuple[str, str]:
    article = "an" if kind == "integer" else "a"
    return "bad-variable-value", f"the variable `{name}` is {article} {kind}, and `{text}` is none"


def _integer(text: str) -> Value:
    number = WrittenInt(text)
    number.written = str(int(number))
    return Value(number.written, number)


def _number(text: str) -> Value:
    number = WrittenFloat(text)
    number.written = text
    if not math.isfinite(number):
        raise ValueError(text)
    return Value(text, number)


def _boolean(text: str) -> Value:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return Value(text.lower(), text.lower() == "true")


def _timestamp(text: str) -> Value:
    as_written(text)
    return Value(text, text)


def _date(text: str) -> Value:
    day = date.fromisoformat(text).isoformat()
    return Value(day, day)


_CANONICAL: Mapping[VariableType, Callable[[str], Value]] = {
    "text": lambda text: Value(text, text),
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}
_EXAMPLES: Mapping[VariableType, str] = {
    "text": "write any text",
    "integer": "write a whole number such as 7",
    "number": "write a number such as 1.5",
    "boolean": "write `true` or `false`",
    "date": "write it as 2030-01-31",
    "timestamp": "write it as 2030-01-31T23:59:45Z",
}
