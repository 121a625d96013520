"""Resolves `${env:NAME}` and `${file:PATH}` in the project file; their values are secrets.

`${user.name}` and the like belong to Hadoop and Spark and stay as they are; a bare `${NAME}` is an error.
`$${env:NAME}` is a literal `${env:NAME}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from catchment.errors import InvalidFiles, Position
from catchment.spec.document import read_file
from catchment.spec.findings import Findings
from catchment.spec.source_positions import position_at
from catchment.spec.tree import ListNode, MapNode, Node, ScalarNode

_REFERENCE = re.compile(r"\$?\$\{(?:(?P<kind>env|file):(?P<name>[^}]*)|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))\}")


@dataclass
class References:
    """Replaces the references of one file, and collects the secrets and the values that failed."""

    directory: Path
    env: Mapping[str, str]
    findings: Findings
    secrets: list[str] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)
    """The positions of values that could not be resolved."""

    def resolve(self, node: Node) -> Node:
        """The same tree with every reference replaced by its value."""
        if isinstance(node, MapNode):
            entries = {key: replace(entry, node=self.resolve(entry.node)) for key, entry in node.entries.items()}
            return replace(node, entries=entries)
        if isinstance(node, ListNode):
            return replace(node, items=tuple(self.resolve(item) for item in node.items))
        return self._scalar(node) if isinstance(node.value, str) and "${" in node.value else node

    def _scalar(self, node: ScalarNode) -> ScalarNode:
        def fill(match: re.Match[str]) -> str:
            if match[0].startswith("$$"):
                return match[0][1:]
            value = self._value(match, position_at(node, match.start()))
            if value is None:
                self.failed.add(node.where)
                return match[0]
            self.secrets.append(value)
            return value

        text = _REFERENCE.sub(fill, node.text)
        return replace(node, value=text, text=text)

    def _value(self, match: re.Match[str], where: Position) -> str | None:
        name = match["name"]
        if not name:
            hint = f"write ${{env:{match['bare'] or 'NAME'}}} or ${{file:PATH}}"
            self.findings.error("bad-reference", f"`{match[0]}` refers to nothing", where, hint)
            return None
        return self._variable(name, where) if match["kind"] == "env" else self._content(name, where)

    def _variable(self, name: str, where: Position) -> str | None:
        if name not in self.env:
            message = f"the environment variable {name} is not set"
            self.findings.error("unset-variable", message, where, f"set {name} before you start")
        return self.env.get(name)

    def _content(self, name: str, where: Position) -> str | None:
        try:
            return read_file(self.directory / name, where).rstrip("\r\n")
        except InvalidFiles as error:
            # The referenced file is not a project file, so its problems are reported at the reference.
            self.findings.extend(replace(problem, where=where) for problem in error.diagnostics)
            return None
