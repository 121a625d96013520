"""`${env:NAME}` and `${file:PATH}` in the project file: looked up, and remembered as secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from catchment.errors import Diagnostic, InvalidFiles, Position
from catchment.spec.document import read_file
from catchment.spec.tree import ListNode, MapNode, Node, ScalarNode

# `${user.name}` and the like belong to Hadoop and Spark; a bare `${NAME}` is always a slip.
_REFERENCE = re.compile(r"\$\{(?:(?P<kind>env|file):(?P<name>[^}]*)|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))\}")


@dataclass
class References:
    """Replaces the references of one file; collects what was secret and what went wrong."""

    directory: Path
    env: Mapping[str, str]
    secrets: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    def resolve(self, node: Node) -> Node:
        """The same tree with every reference replaced by its value."""
        if isinstance(node, MapNode):
            entries = {key: replace(entry, node=self.resolve(entry.node)) for key, entry in node.entries.items()}
            return replace(node, entries=entries)
        if isinstance(node, ListNode):
            return replace(node, items=tuple(self.resolve(item) for item in node.items))
        return self._scalar(node)

    def _scalar(self, node: ScalarNode) -> ScalarNode:
        if not isinstance(node.value, str) or not _REFERENCE.search(node.value):
            return node
        text = _REFERENCE.sub(lambda match: self._value(match, node.where), node.value)
        return replace(node, value=text, text=text)

    def _value(self, match: re.Match[str], where: Position) -> str:
        kind, name, bare = match["kind"], match["name"], match["bare"]
        if bare or not name:
            hint = f"write ${{env:{bare or 'NAME'}}} or ${{file:PATH}}"
            self.problems.append(Diagnostic("bad-reference", f"`{match[0]}` refers to nothing", where, hint))
            return match[0]
        value = self._variable(name, where) if kind == "env" else self._content(name, where)
        if value is None:
            return match[0]
        self.secrets.append(value)
        return value

    def _variable(self, name: str, where: Position) -> str | None:
        if name not in self.env:
            message = f"the environment variable `{name}` is not set"
            self.problems.append(Diagnostic("unset-variable", message, where, f"set {name} before you start"))
        return self.env.get(name)

    def _content(self, name: str, where: Position) -> str | None:
        try:
            return read_file(self.directory / name, where).rstrip("\r\n")
        except InvalidFiles as error:
            # The file is no YAML of ours: what is wrong with it is wrong where it is named.
            self.problems += [replace(problem, where=where) for problem in error.diagnostics]
            return None
