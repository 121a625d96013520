"""Checks the options of a file rewrite: options that would have no effect are refused."""

from __future__ import annotations

import re

from catchment.errors import JobError
from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset, Rewrite

FLAGS = frozenset({"rewrite-all"})
"""Boolean properties; all other properties that are checked here are whole numbers."""

_ZORDER = re.compile(r"\s*zorder\s*\((.+)\)\s*", re.IGNORECASE | re.DOTALL)


def zorder_columns(order: str | None) -> str | None:
    """The columns of `zorder(a, b)`; None if the order is none along a z-order."""
    found = _ZORDER.fullmatch(order or "")
    return found[1] if found else None


def check_rewrite(dataset: Dataset, operation: Rewrite, *, sorts: bool = False, filters: bool = False) -> None:
    """Raise if the format does not support an option, or if a limit makes the rewrite do nothing."""
    known = traits_of(dataset.format).rewrite_options
    if unknown := sorted(set(operation.properties) - known):
        raise JobError(
            f"{', '.join(unknown)} has no effect on {dataset.address}, whose format is {dataset.format}",
            code="unsupported-option",
            hint=f"its rewrite knows {', '.join(sorted(known))}" if known else "set properties of the table instead",
        )
    if operation.strategy == "sort" and not sorts:
        raise JobError(
            f"a compaction of {dataset.address} does not sort rows",
            code="unsupported-option",
            hint="leave the order out, or keep the data in a table",
        )
    if operation.condition is not None and not filters:
        raise JobError(
            f"a compaction of {dataset.address} takes no condition",
            code="unsupported-option",
            where=operation.condition.where,
            hint="name partitions instead: --partition day=2026-03-01",
        )
    for name, value in operation.properties.items():
        _check_value(name, value)


def _check_value(name: str, value: str) -> None:
    if name in FLAGS:
        if value.lower() not in ("true", "false"):
            raise _bad(name, value, "write true or false")
    elif not value.isdecimal():
        raise _bad(name, value, "write a whole number")
    elif int(value) == 0:
        raise JobError(
            f"with {name}={value} no file would ever be rewritten",
            code="threshold-never-met",
            hint="write a number above zero, or leave the property out",
        )


def _bad(name: str, value: str, hint: str) -> JobError:
    return JobError(f"`{value}` is not a value of {name}", code="unsupported-option", hint=hint)
