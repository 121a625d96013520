"""Compares two definitions of a workflow: which jobs come, go and change, and what changes in each."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from catchment.plan.definition import Definition


@dataclass(frozen=True)
class Change:
    """One difference. The order of the fields is their order in the JSON of `catchment diff`."""

    path: str
    """Where it is in the job, such as `outputs.orders.mode`."""
    before: str | None
    after: str | None

    def lines(self) -> list[str]:
        """The change for people to read; texts of several lines are shown as a diff."""
        before, after = ((text or "").rstrip("\n").split("\n") for text in (self.before, self.after))
        if len(before) == len(after) == 1:
            shown = ["nothing" if text is None else text for text in (self.before, self.after)]
            return [f"{self.path}: {shown[0]} -> {shown[1]}"]
        _, _, *different = difflib.unified_diff(before, after, lineterm="", n=2)
        return [f"{self.path}:", *(f"  {line}" for line in different)]


@dataclass(frozen=True)
class JobChange:
    """A job that was added, removed or changed."""

    name: str
    change: Literal["added", "removed", "changed"]
    changes: tuple[Change, ...] = ()


def compare(before: Definition, after: Definition) -> tuple[JobChange, ...]:
    """The jobs that differ, in the order of the workflow; removed jobs come last."""
    return tuple(_compare(before, after))


def _compare(before: Definition, after: Definition) -> Iterator[JobChange]:
    for name, job in after.items():
        if name not in before:
            yield JobChange(name, "added")
        elif changes := (*_reordered(before[name], job), *_changes(_flat(before[name]), _flat(job))):
            yield JobChange(name, "changed", changes)
    yield from (JobChange(name, "removed") for name in before if name not in after)


def _reordered(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """The order of the steps that are in both, if it differs; that of other parts makes no difference."""
    old, new = before.get("steps", {}), after.get("steps", {})
    was, now = [name for name in old if name in new], [name for name in new if name in old]
    if was != now:
        yield Change("steps", ", ".join(was), ", ".join(now))


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path):
            yield Change(path, before.get(path), after.get(path))


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Every value of a definition as text, under its path."""
    if not isinstance(value, Mapping):
        return {path: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}
    found: dict[str, str] = {}
    for key, each in value.items():
        found |= _flat(each, f"{path}.{key}" if path else key)
    return found
