"""Attempts: how many there are, how long they go on, and how long the pauses between them are."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator

import pytest
import stamina

from catchment.formats.backoff import LONGEST_PAUSE_SECONDS, MAX_ATTEMPTS, SHORTEST_PAUSE_SECONDS, attempts


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for; none is made."""
    asked: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", asked.append)
    return asked


@pytest.fixture
def without_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=1000, cap=True):
        yield


def test_there_are_as_many_attempts_as_conflicts_are_worth(pauses: list[float]) -> None:
    assert list(attempts()) == list(range(1, MAX_ATTEMPTS + 1))
    assert len(pauses) == MAX_ATTEMPTS - 1  # nobody waits after the last one


def test_pauses_grow_up_to_the_longest_and_never_keep_step(pauses: list[float]) -> None:
    list(attempts(200))
    growing = [min(SHORTEST_PAUSE_SECONDS * 2**n, LONGEST_PAUSE_SECONDS) for n in range(199)]
    assert all(0.3 * most <= pause <= most for pause, most in zip(pauses, growing, strict=True))
    assert len(set(pauses[10:])) > 100
    assert max(pauses) > 0.8 * LONGEST_PAUSE_SECONDS


@pytest.mark.usefixtures("pauses")
def test_attempts_end_with_the_time() -> None:
    begun = time.monotonic()
    assert sum(1 for _ in attempts(None, seconds=0.2)) > 1
    assert 0.2 <= time.monotonic() - begun < 5


def test_without_a_number_the_pauses_stay_as_long_as_they_may_be(pauses: list[float]) -> None:
    made = sum(1 for _ in itertools.islice(attempts(None), 3000))
    assert made == 3000
    assert max(pauses) <= LONGEST_PAUSE_SECONDS


def test_who_is_done_is_not_asked_again(pauses: list[float]) -> None:
    numbers = []
    for number in attempts():
        numbers.append(number)
        if number == 3:
            break
    assert numbers == [1, 2, 3]
    assert len(pauses) == 2


def test_an_error_of_an_attempt_is_not_caught() -> None:
    def failing() -> None:
        for _ in attempts():
            raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        failing()


def test_nothing_is_logged_by_the_way(pauses: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        list(attempts(3))
    assert caplog.records == []


@pytest.mark.usefixtures("without_pauses")
def test_tests_may_do_without_pauses() -> None:
    begun = time.monotonic()
    assert len(list(attempts(50, shortest=10.0, longest=60.0))) == 50
    assert time.monotonic() - begun < 5
