"""Adds up the results of several windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catchment.run_model import OutputResult


def added_up(reports: Sequence[tuple[OutputResult, ...]]) -> tuple[OutputResult, ...]:
    """The sum of the results of several windows, by output."""
    total: dict[str, OutputResult] = {}
    for report in (report for results in reports for report in results):
        before = total.get(report.name)
        rows, files = (_sum(before, report, count) for count in ("rows", "files"))
        total[report.name] = replace(report, rows=rows, files=files)
    return tuple(total.values())


def _sum(before: OutputResult | None, report: OutputResult, count: str) -> int | None:
    known = [getattr(each, count) for each in (before, report) if each and getattr(each, count) is not None]
    return sum(known) if known else None
