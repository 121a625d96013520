"""Fills in references to variables, to the environment and to files: one rule for workflows and for the project file.

| written | becomes | secret |
|---|---|---|
| `${NAME}` | the variable NAME, if `vars` declares it; otherwise, in workflows, the environment variable NAME | no |
| `${env:NAME}` | the environment variable NAME | no |
| `${secret:NAME}` | the environment variable NAME | yes |
| `${file:PATH}` | the text of a file | yes |

Nothing else is touched: `$NAME`, `$|key|`, `${user.name}`, `${spark.conf.key}` and a lone `$` mean something in SQL,
regular expressions, Hadoop or incremental windows. `$${…}` stands for a literal `${…}`. Values are filled in after the
YAML is parsed, so that a value can never change the structure of a file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from catchment.errors import InvalidFiles, Position
from catchment.spec.findings import Findings
from catchment.spec.secret import Secret
from catchment.spec.source_positions import extent, position_at, source_lines
from catchment.spec.sql_clause import SourceLine
from catchment.spec.tree import Entry, ListNode, MapNode, Node, Plain, ScalarNode
from catchment.spec.variable_value import Value
from catchment.spec.variables import LOOKS_SECRET

_REFERENCE = re.compile(r"\$?\$\{(?:(?P<kind>env|secret|file):(?P<name>[^{}]*)|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))\}")

IDENTITIES = frozenset({"name", "dataset", "location", "publish"})
"""Keys whose values name something in the metastore, in tables and on disk, so that they cannot be masked."""

ReadFile = Callable[[str, Position], str]
"""Reads the file that a reference names; raises `InvalidFiles` if it cannot be read."""


@dataclass
class References:
    """Fills in the references of one file, and collects the secrets."""

    env: Mapping[str, str]
    findings: Findings
    read_file: ReadFile
    bare_names: bool = True
    """Whether `${NAME}` means `${env:NAME}` if there is no such variable; otherwise it is an error."""
    secrets: list[Secret] = field(default_factory=list)
    variables: Mapping[str, Value | None] = field(default_factory=dict)
    """What `vars` declares; None for a variable whose value is wrong or missing, which has been reported."""

    def fill(self, node: Node) -> Node:
        """The same tree with every reference replaced by its value."""
        if isinstance(node, ScalarNode):
            return self._scalar(node) if "${" in node.text else node
        if isinstance(node, ListNode):
            return replace(node, items=tuple(self.fill(item) for item in node.items))
        entries = {key: Entry(entry.where, self._entry(key, entry.node)) for key, entry in node.entries.items()}
        return MapNode(node.where, entries)

    def _entry(self, key: str, node: Node) -> Node:
        known = len(self.secrets)
        filled = self.fill(node)
        if key in IDENTITIES and isinstance(node, ScalarNode) and len(self.secrets) > known:
            message = f"`{key}` contains a secret, but names and addresses are stored and shown as they are"
            self.findings.error("secret-in-name", message, node.where, "write `${env:NAME}` if it is no secret")
        return filled

    def _scalar(self, node: ScalarNode) -> ScalarNode:
        written = source_lines(node)
        pieces: list[str] = []
        ends, shifts, behind = [0], [0], []
        for match in _REFERENCE.finditer(node.text):
            filled = self._value(match, position_at(node, match.start(), written))
            if filled is None:
                self.findings.settle([extent(node)])
                filled = match[0]
            pieces += [node.text[ends[-1] : match.start()], filled]
            ends.append(match.end())
            shifts.append(shifts[-1] + len(filled) - len(match[0]))
            after = position_at(node, match.end(), written)
            behind.append(SourceLine(match.end() + shifts[-1], after.line, after.column))
        text = "".join([*pieces, node.text[ends[-1] :]])
        moved = [replace(line, offset=line.offset + shifts[bisect_right(ends, line.offset) - 1]) for line in written]
        lines = tuple(sorted([*moved, *behind], key=lambda line: line.offset))
        return replace(node, value=self._plain(node.text, text), text=text, lines=lines)

    def _plain(self, written: str, text: str) -> Plain:
        """The value of a scalar: a number or a boolean if it is only a reference to a variable of such a type."""
        match = _REFERENCE.fullmatch(written)
        value = self.variables.get(match["bare"] or "") if match and not written.startswith("$$") else None
        return value.plain if value else text

    def _value(self, match: re.Match[str], where: Position) -> str | None:
        if match[0].startswith("$$"):
            return match[0][1:]
        if match["bare"] in self.variables:
            known = self.variables[match["bare"]]
            return known.text if known else None
        kind, name = ("env", match["bare"]) if match["bare"] and self.bare_names else (match["kind"], match["name"])
        if not name:
            example = match["bare"] or "NAME"
            declare = f", or declare `{example}` in `vars`" if match["bare"] else ""
            hint = f"write ${{env:{example}}}, ${{secret:{example}}} or ${{file:PATH}}{declare}"
            self.findings.error("bad-reference", f"`{match[0]}` refers to nothing", where, hint)
            return None
        bare = match["bare"] is not None
        value = self._content(name, where) if kind == "file" else self._environment(name, where, bare=bare)
        if kind == "env":
            self._warn_if_secret(name, where)
        elif value is not None:
            self.secrets.append(Secret(value, match[0], where))
        return value

    def _environment(self, name: str, where: Position, *, bare: bool) -> str | None:
        if name not in self.env:
            hint = f"set {name} before you start; `$${{…}}` stands for a literal `${{…}}`"
            if bare:
                hint = f"declare it in `vars`, or {hint}"
            self.findings.error("unset-variable", f"the environment variable {name} is not set", where, hint)
        return self.env.get(name)

    def _warn_if_secret(self, name: str, where: Position) -> None:
        if name in self.env and LOOKS_SECRET.fullmatch(name):
            message = f"{name} looks like a secret, and `${{env:{name}}}` is shown as it is in plans, logs and messages"
            self.findings.warning("plain-secret", message, where, f"write ${{secret:{name}}}, which is masked")

    def _content(self, name: str, where: Position) -> str | None:
        try:
            return self.read_file(name, where).rstrip("\r\n")
        except InvalidFiles as error:
            # The content of this file is a secret, so its problems are reported at the reference.
            self.findings.extend(replace(problem, where=where) for problem in error.diagnostics)
            return None
