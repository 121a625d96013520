"""The progress of a job: words for what is known, and an estimate only where the pace is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from catchment.events.job_progress import StageProgress, progressed, written
from tests.unit.events.stories import NOON


def reported(*reports: tuple[float, int], total: int = 100, stages: list[int] | None = None) -> StageProgress:
    """The progress after reports of finished tasks, each some seconds after noon."""
    found: StageProgress | None = None
    for after, done in reports:
        data: dict[str, Any] = {"done": done, "total": total, "stages": stages or [1]}
        found = progressed(found, data, _at(after))
    assert found
    return found


def _at(after: float) -> datetime:
    return NOON + timedelta(seconds=after)


def test_the_pace_of_the_running_stage_tells_how_long_it_takes() -> None:
    progress = reported((0, 10), (10, 30))
    assert progress.seconds_left(_at(10)) == 10 * 70 / 20


@pytest.mark.parametrize("reports", [[(0, 0)], [(0, 0), (60, 3)], [(0, 0), (4, 50)], [(0, 50), (60, 50)]])
def test_without_a_pace_there_is_no_estimate(reports: list[tuple[float, int]]) -> None:
    assert reported(*reports).seconds_left(_at(reports[-1][0])) is None


def test_another_stage_has_a_pace_of_its_own() -> None:
    first = reported((0, 0), (60, 90))
    second = progressed(first, {"done": 0, "total": 50, "stages": [2]}, _at(61))
    assert (second.began, second.done_then, second.seconds_left(_at(62))) == (_at(61), 0, None)


@pytest.mark.parametrize(
    ("rows", "size", "words"),
    [
        (0, 0, ""),
        (5, 0, "5 rows written"),
        (0, 999, "999 bytes written"),
        (1000, 1_500, "1,000 rows and 2 kB written"),
        (1, 2_500_000_000, "1 rows and 2.5 GB written"),
    ],
)
def test_what_was_written(rows: int, size: int, words: str) -> None:
    assert written(rows, size) == words
