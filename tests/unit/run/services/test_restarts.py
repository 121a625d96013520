"""When a command is started again, and after which pause."""

from __future__ import annotations

import pytest

from catchment.run.services.restarts import LONGEST_PAUSE, MOST_QUICK_FAILURES, STEADY_SECONDS, Restarts

FAILED, KILLED, LEASE_HELD = 1, 137, 4


@pytest.mark.parametrize("code", [FAILED, KILLED, LEASE_HELD])
def test_nothing_is_started_again_without_a_policy(code: int) -> None:
    assert Restarts("never").pause(code, 1.0) is None


@pytest.mark.parametrize("code", [FAILED, KILLED, LEASE_HELD])
def test_what_has_failed_is_started_again(code: int) -> None:
    assert Restarts("on-failure").pause(code, 1.0) == 1.0


@pytest.mark.parametrize("code", [0, 2, 130])
def test_what_another_start_cannot_help_is_not(code: int) -> None:
    restarts = Restarts("on-failure")
    assert (restarts.pause(code, 1.0), restarts.exhausted) == (None, False)


def test_pauses_double_up_to_a_limit_and_then_the_service_gives_up() -> None:
    restarts = Restarts("on-failure")
    pauses = [restarts.pause(FAILED, 1.0) for _ in range(MOST_QUICK_FAILURES)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE, None]
    assert restarts.exhausted


def test_a_failure_after_a_long_time_begins_the_count_anew() -> None:
    restarts = Restarts("on-failure")
    for _ in range(MOST_QUICK_FAILURES - 1):
        assert restarts.pause(FAILED, STEADY_SECONDS - 1)
    assert restarts.pause(FAILED, STEADY_SECONDS) == 1.0
    assert restarts.pause(FAILED, 1.0) == 2.0
