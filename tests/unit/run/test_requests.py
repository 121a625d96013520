"""What programs ask of runs: values become what the command line would have given, and mistakes are named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from catchment.errors import Position, RequestError
from catchment.plan.model import Commits, Dataset, InputPlan, JobPlan, Plan
from catchment.run.requests import choices_for, request_for
from catchment.run.results import ErrorReport, JobResult, Run, RunFailed
from catchment.run_model import Backfill, Choices

HERE = Position("w.yaml", 1, 1)
SOURCE = Dataset("dataos://lake:a/b", "lake", "iceberg", "a", "b")
PLAIN = Plan("flow", "w.yaml", (JobPlan("a", "default", HERE),), ())
MOVING = Plan(
    "flow",
    "w.yaml",
    (JobPlan("a", "default", HERE, inputs=(InputPlan("i", SOURCE, HERE, commits=Commits(HERE)),)),),
    (),
)


def test_values_of_python_are_texts_of_variables() -> None:
    vars = {"n": 7, "b": True, "day": date(2024, 1, 1), "s": "x"}
    assert choices_for(vars, ["a+"], ("b",)) == Choices(
        {"n": "7", "b": "true", "day": "2024-01-01", "s": "x"}, ("a+",), ("b",)
    )


def test_a_backfill_and_a_number_of_windows() -> None:
    assert request_for(MOVING, backfill=("1", "9"), windows=None, wait=True).backfill == Backfill("1", "9")
    assert request_for(MOVING, backfill=None, windows=3, wait=False).windows == 3
    assert request_for(PLAIN, backfill=None, windows=None, wait=False).windows == 1


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        (lambda: choices_for(None, "orders", ()), "bad-request"),
        (lambda: request_for(MOVING, backfill="1..9", windows=None, wait=False), "bad-request"),  # type: ignore[arg-type]
        (lambda: request_for(MOVING, backfill=("1", ""), windows=None, wait=False), "bad-request"),
        (lambda: request_for(MOVING, backfill=("1", "2"), windows=2, wait=False), "options-conflict"),
        (lambda: request_for(MOVING, backfill=None, windows=0, wait=False), "bad-request"),
        (lambda: request_for(PLAIN, backfill=("1", "2"), windows=None, wait=False), "option-without-effect"),
    ],
)
def test_mistakes_are_named(mistake: Callable[[], object], code: str) -> None:
    with pytest.raises(RequestError) as caught:
        mistake()
    assert (caught.value.code, bool(caught.value.hint)) == (code, True)


def test_a_run_that_failed_says_which_jobs_and_why() -> None:
    error = ErrorReport("sql-syntax", "bad SQL", "mend it", "w.yaml", 4, 7)
    failed = Run("r1", "flow", "failed", 1.0, (JobResult("a", "failed", 1, 0.5, error, ()),))
    with pytest.raises(RunFailed) as caught:
        failed.require_success()
    assert caught.value.message == "run r1 of flow: failed: a: bad SQL [sql-syntax]"
    assert (caught.value.code, caught.value.where) == ("run-failed", Position("w.yaml", 4, 7))
    done = Run("r2", "flow", "succeeded", 1.0, ())
    assert done.require_success() is done
