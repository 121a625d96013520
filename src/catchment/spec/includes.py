"""Replaces the names of step, SQL and schema files in a workflow with their content, before anything is checked.

Relative paths start from the directory of the workflow file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from catchment.errors import InvalidFiles, Position
from catchment.spec.boundary import Boundary
from catchment.spec.document import read_text
from catchment.spec.findings import Findings
from catchment.spec.model import SourceLine
from catchment.spec.references import References
from catchment.spec.tree import Entry, ListNode, MapNode, Node, ScalarNode, text


@dataclass(frozen=True)
class Includes:
    """Finds the files of one workflow, within the boundary of its project, and fills in their references."""

    base: Path
    boundary: Boundary
    references: References
    findings: Findings

    def inline(self, node: MapNode) -> MapNode:
        """A DAG node whose files are replaced with their content."""
        return node.edited("spec", lambda spec: spec.edited("stackSpec", lambda stack: stack.edited("job", self._job)))

    def _job(self, job: MapNode) -> MapNode:
        steps = job.get("steps")
        if isinstance(steps, ListNode):
            groups = tuple(group for item in steps.items for group in self._groups(item))
            job = job.having("steps", Entry(job.key_where("steps"), replace(steps, items=groups)))
        job = job.edited_items("steps", lambda group: group.edited_items("sequence", self._step))
        return job.edited_items("inputs", self._input)

    def _groups(self, item: Node) -> tuple[Node, ...]:
        """The step sequences that an item of `steps` stands for."""
        name = text(item)
        if name is None:
            return (item,)
        content = self._text(name, item.where)
        if content is None:
            return ()
        try:
            document = read_text(content, str(self.base / name), self.findings)
        except InvalidFiles as error:
            self.findings.extend(error.diagnostics)
            return ()
        return self._file_groups(self.references.fill(document.root))

    def _file_groups(self, root: Node) -> tuple[Node, ...]:
        if isinstance(root, MapNode) and "steps" in root.entries:
            root = root.entries["steps"].node
        if isinstance(root, ListNode):
            return root.items
        if isinstance(root, MapNode):
            return (root,)
        self.findings.error("bad-step-file", "a step file holds a list of sequences", root.where, "`- sequence: …`")
        return ()

    def _step(self, step: MapNode) -> MapNode:
        return self._replaced(step, "sqlFile", "sql")

    def _input(self, node: MapNode) -> MapNode:
        if "://" in (text(node.get("schemaPath")) or ""):
            return node
        return self._replaced(node, "schemaPath", "schemaString")

    def _replaced(self, node: MapNode, key: str, inline: str) -> MapNode:
        """Replace the file name under `key` with the content of the file under `inline`."""
        entry = node.entries.get(key)
        name = text(entry.node) if entry else None
        if entry is None or name is None:
            return node
        if inline in node.entries:
            message = f"`{key}` and `{inline}` mean the same"
            self.findings.error("given-twice", message, entry.where, "keep one of them")
            return node.without(key)
        content = self._text(name, entry.node.where)
        if content is None:
            # The missing file has been reported. With an empty text, the rest of the mapping can still be checked.
            return node.without(key).having(inline, Entry(entry.where, ScalarNode("", "", entry.node.where)))
        found = self.references.fill(_file_node(content, str(self.base / name)))
        return node.without(key).having(inline, Entry(entry.where, found))

    def _text(self, name: str, asked_at: Position) -> str | None:
        try:
            return self.boundary.read(self.base / name, asked_at)
        except InvalidFiles as error:
            self.findings.extend(error.diagnostics)
            return None


def _file_node(content: str, file: str) -> ScalarNode:
    """A whole file as one scalar that knows the positions of its lines."""
    lengths = [len(line) for line in content.splitlines(keepends=True)]
    starts = [0, *accumulate(lengths)][: len(lengths)]
    lines = tuple(SourceLine(offset, number, 1) for number, offset in enumerate(starts, 1))
    return ScalarNode(content, content, Position(file, 1, 1), lines=lines)
