"""Steps: from the grammar to the canonical model, with the place of every line of SQL."""

from __future__ import annotations

from collections.abc import Iterator

from catchment.spec.findings import Findings
from catchment.spec.grammar import job as grammar
from catchment.spec.model import Step
from catchment.spec.textlines import source_lines, start_of_text
from catchment.spec.tree import MapNode, Node, ScalarNode, items
from catchment.spec.validation import parse


def read_steps(job: MapNode, findings: Findings) -> tuple[Step, ...]:
    """Every step of a job that can be read, in the order in which they run."""
    return tuple(step for group in items(job.get("steps")) for step in _sequence(group, findings))


def _sequence(group: Node, findings: Findings) -> Iterator[Step]:
    findings.extend(parse(grammar.Sequence, group)[1])
    if isinstance(group, MapNode):
        found = (_step(item, findings) for item in items(group.get("sequence")))
        yield from (step for step in found if step)


def _step(node: Node, findings: Findings) -> Step | None:
    given, found = parse(grammar.StepItem, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode):
        return None
    sql = node.get("sql")
    if given.sql is not None and isinstance(sql, ScalarNode):
        return Step(given.name, given.sql, node.where, start_of_text(sql), source_lines(sql))
    if given.classpath is None:
        hint = "add `sql:` or `sqlFile:` to the step"
        findings.error("missing-field", f"`sql` is missing in step `{given.name}`", node.where, hint)
    return None
