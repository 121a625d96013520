"""What several windows of one job came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catchment.engine.protocol import OutputReport


def added_up(reports: Sequence[tuple[OutputReport, ...]]) -> tuple[OutputReport, ...]:
    """What several windows came to, output by output."""
    total: dict[str, OutputReport] = {}
    for report in (report for turn in reports for report in turn):
        before = total.get(report.name)
        rows, files = (_sum(before, report, count) for count in ("rows", "files"))
        total[report.name] = replace(report, rows=rows, files=files)
    return tuple(total.values())


def _sum(before: OutputReport | None, report: OutputReport, count: str) -> int | None:
    known = [getattr(each, count) for each in (before, report) if each and getattr(each, count) is not None]
    return sum(known) if known else None
