"""The views of a job: the names that its inputs and steps define, and which view each output writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.model import Step
from catchment.spec.tree import MapNode, Node, ScalarNode, items, maps
from catchment.spec.validation import did_you_mean
from catchment.sql_parser import parse

Named = tuple[str, Position]


@dataclass(frozen=True)
class Views:
    """Names as written, whether or not the rest of the input or step could be read."""

    inputs: tuple[Named, ...]
    sequences: tuple[tuple[Named, ...], ...]
    outputs: int
    """How many outputs share these views."""
    sql: Mapping[str, str]
    """The SQL of each step, by lower-case name."""

    @property
    def steps(self) -> tuple[Named, ...]:
        """All steps in the order in which they run."""
        return tuple(step for sequence in self.sequences for step in sequence)

    def source_of(self, output: str, where: Position, findings: Findings) -> str:
        """The view that an output writes: the one with its name, or the only candidate."""
        known = {name.lower(): name for name, _ in (*self.inputs, *self.steps)}
        if output.lower() in known:
            return known[output.lower()]
        meant = self._only_candidate() if self.outputs == 1 else None
        if meant is None:
            hint = did_you_mean(output, known.values()) or f"name it after one of {', '.join(known.values()) or 'them'}"
            findings.error("output-without-source", f"no step and no input is named `{output}`", where, hint)
            return output
        kind = "the last step" if self.steps else "the only input"
        code = "output-takes-last-step" if self.steps else "output-takes-only-input"
        message = f"no step and no input is named `{output}`; {kind}, `{meant}`, is written"
        findings.warning(code, message, where, f"name the output `{meant}`")
        return meant

    def columns_of(self, view: str, candidates: Iterable[str]) -> set[str]:
        """Those of the given lower-case names that the view's query visibly selects."""
        sql = self.sql.get(view.lower(), "")
        mentioned = {name for name in candidates if re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE)}
        return mentioned & _selected(sql) if mentioned else set()

    def _only_candidate(self) -> str | None:
        filled = [sequence for sequence in self.sequences if sequence]
        if filled:
            return filled[0][-1][0] if len(filled) == 1 else None
        return self.inputs[0][0] if len(self.inputs) == 1 else None


def read_views(job: MapNode, steps: Iterable[Step], findings: Findings) -> Views:
    """The views of a job; a name that is given twice is an error."""
    inputs = tuple(_names(job.get("inputs")))
    sequences = tuple(tuple(_names(group.get("sequence"))) for group in maps(job.get("steps")))
    views = Views(inputs, sequences, len(items(job.get("outputs"))), {step.name.lower(): step.sql for step in steps})
    _check_unique(views, findings)
    return views


def _names(node: Node | None) -> Iterator[Named]:
    for item in maps(node):
        name = item.get("name")
        if isinstance(name, ScalarNode) and name.text:
            yield name.text, name.where


def _check_unique(views: Views, findings: Findings) -> None:
    inputs = _check_kind("input", views.inputs, findings)
    for name, (_, where) in _check_kind("step", views.steps, findings).items():
        if name in inputs:
            message = f"step `{name}` takes the name of an input; later steps read the step"
            findings.warning("step-hides-input", message, where, "give the step a name of its own")


def _check_kind(kind: str, names: Iterable[Named], findings: Findings) -> dict[str, Named]:
    seen: dict[str, Named] = {}
    for name, where in names:
        if name.lower() in seen:
            message = f"{kind} `{name}` is given twice; the first is on line {seen[name.lower()][1].line}"
            findings.error(f"duplicate-{kind}", message, where, "give it another name")
        seen.setdefault(name.lower(), (name, where))
    return seen


def _selected(sql: str) -> set[str]:
    return {name.lower() for name in getattr(parse(sql), "named_selects", ())}
