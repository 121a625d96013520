"""Adds up the results of several windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catchment.run_model import InputResult, JobReport, OutputResult


def added_up(reports: Sequence[JobReport]) -> JobReport:
    """The result of several windows: the sum for each output.

    Every window reads all files of an input to find its rows, so the bad rows of an input are those of one window.
    """
    outputs: dict[str, OutputResult] = {}
    inputs: dict[str, InputResult] = {}
    for output in (output for report in reports for output in report.outputs):
        before = outputs.get(output.name)
        rows, files = (_sum(before, output, count) for count in ("rows", "files"))
        outputs[output.name] = replace(output, rows=rows, files=files)
    for source in (source for report in reports for source in report.inputs):
        known = [each.bad_rows for each in (inputs.get(source.name), source) if each and each.bad_rows is not None]
        inputs[source.name] = replace(source, bad_rows=max(known, default=None))
    return JobReport(tuple(outputs.values()), tuple(inputs.values()))


def _sum(before: OutputResult | None, report: OutputResult, count: str) -> int | None:
    known = [getattr(each, count) for each in (before, report) if each and getattr(each, count) is not None]
    return sum(known) if known else None
