"""What a program asks of a run, as the values that the rest of Catchment knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from catchment.errors import RequestError
from catchment.plan.model import Plan
from catchment.run_model import Backfill, Choices, RunRequest


def choices_for(vars: Mapping[str, object] | None, select: Iterable[str], exclude: Iterable[str]) -> Choices:
    """What is run of a workflow; values of variables may be numbers, booleans and dates, too."""
    given = {name: _text(value) for name, value in (vars or {}).items()}
    return Choices(given, _names("select", select), _names("exclude", exclude))


def request_for(plan: Plan, *, backfill: tuple[str, str] | None, windows: int | None, wait: bool) -> RunRequest:
    """What incremental jobs are asked for; raises RequestError if the workflow has none."""
    asked = {"backfill": backfill is not None, "windows": windows is not None}
    given = [name for name, is_given in asked.items() if is_given]
    if given and not any(job.moves for job in plan.jobs):
        raise RequestError(
            f"{' and '.join(given)} would have no effect: workflow {plan.workflow} has no incremental job",
            code="option-without-effect",
            hint="leave it out, or make a job incremental",
        )
    if backfill is not None and windows is not None:
        raise RequestError(
            "a backfill reads all windows of its range", code="options-conflict", hint="leave `windows` out"
        )
    if windows is not None and windows < 1:
        raise RequestError(f"a job cannot read {windows} windows", code="bad-request", hint="give a number from 1 up")
    return RunRequest(windows=windows or 1, backfill=_range(backfill) if backfill else None, wait=wait)


def _range(backfill: tuple[str, str]) -> Backfill:
    if isinstance(backfill, str) or len(backfill) != 2 or not all(map(str, backfill)):
        raise RequestError(
            f"{backfill!r} is no range", code="bad-request", hint='give two values: ("2024-01-01", "2024-07-01")'
        )
    first, last = map(str, backfill)
    return Backfill(first, last)


def _names(what: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):  # its letters would be taken for names
        raise RequestError(f"`{what}` wants a list of names", code="bad-request", hint=f"write {what}=[{given!r}]")
    return tuple(given)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
