"""Who waits for whom: jobs of one run that write one table, and nobody for ever."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from catchment.plan.model import Dataset, JobPlan
from catchment.run.still_to_come import StillToCome
from tests.unit.run.conftest import job

SHARED = Dataset("dataos://lake:raw/shared", "lake", "iceberg", "raw", "shared")


def lingering(name: str, *needs: str, table: Dataset = SHARED) -> JobPlan:
    """A job whose only output waits for others."""
    plain = job(name, "", *needs)
    return replace(plain, outputs=(replace(plain.outputs[0], dataset=table, linger=600.0),))


def begun(*jobs: JobPlan) -> StillToCome:
    return StillToCome(jobs, [each.name for each in jobs])


def test_the_last_to_seal_ends_the_wait_of_all() -> None:
    coming = begun(*map(lingering, "abc"))
    for name in "ab":
        coming.sealed(name, "out")
        assert coming.release(["a", "b", "c"]) == []
    coming.sealed("c", "out")
    assert coming.release(["a", "b", "c"]) == [("a", "out"), ("b", "out"), ("c", "out")]
    assert coming.release(["a", "b", "c"]) == []


def test_a_job_that_has_ended_is_not_waited_for() -> None:
    coming = begun(*map(lingering, "abc"))
    coming.sealed("a", "out")
    coming.end(["b", "c"])
    assert coming.release(["a"]) == [("a", "out")]


def test_a_job_that_succeeded_before_the_run_was_resumed_is_not_waited_for() -> None:
    coming = StillToCome([lingering("a"), lingering("b"), job("busy")], ["a", "busy"])
    coming.sealed("a", "out")
    assert coming.release(["a", "busy"]) == [("a", "out")]


def test_a_job_whose_attempt_failed_comes_again() -> None:
    coming = begun(lingering("a"), lingering("b"), job("busy"))
    coming.sealed("b", "out")
    coming.repeat("b")
    coming.sealed("a", "out")
    assert coming.release(["a", "b", "busy"]) == []
    coming.sealed("b", "out")
    assert coming.release(["a", "b", "busy"]) == [("a", "out"), ("b", "out")]


def test_nobody_waits_for_a_job_that_waits_for_its_end() -> None:
    coming = begun(lingering("a"), lingering("b", "a"), lingering("c", "b"), job("busy"))
    coming.sealed("a", "out")
    assert coming.release(["a", "busy"]) == [("a", "out")]


def test_a_job_waits_for_one_that_still_waits_for_a_third() -> None:
    coming = begun(lingering("a"), job("busy"), lingering("b", "busy"))
    coming.sealed("a", "out")
    assert coming.release(["a", "busy"]) == []


def test_writes_to_other_tables_and_those_that_do_not_wait_are_not_waited_for() -> None:
    elsewhere = Dataset("dataos://lake:raw/other", "lake", "iceberg", "raw", "other")
    at_once = replace(lingering("c"), outputs=job("c").outputs)
    coming = begun(lingering("a"), lingering("b", table=elsewhere), at_once)
    coming.sealed("a", "out")
    assert coming.release(["a", "b", "c"]) == [("a", "out")]


def test_if_all_that_run_wait_nobody_can_come() -> None:
    """Two jobs at a time: the third begins only when one of them has ended."""
    coming = begun(*map(lingering, "abc"))
    coming.sealed("a", "out")
    assert coming.release(["a", "b"]) == []
    coming.sealed("b", "out")
    assert coming.release(["a", "b"]) == [("a", "out"), ("b", "out")]


def test_a_job_that_waits_for_nobody_can_still_bring_others() -> None:
    """`b` comes after `other`, which is alone on its table and moves on as soon as it has sealed."""
    elsewhere = Dataset("dataos://lake:raw/other", "lake", "iceberg", "raw", "other")
    coming = begun(lingering("a"), lingering("other", table=elsewhere), lingering("b", "other"))
    coming.sealed("a", "out")
    coming.sealed("other", "out")
    assert coming.release(["a", "other"]) == [("other", "out")]
    assert coming.release(["a", "other"]) == []


@given(st.data())
def test_whatever_happens_no_write_waits_once_every_other_job_has_ended(data: st.DataObject) -> None:
    names = list("abcde")
    coming, left, waiting = begun(*map(lingering, names)), set(names), set[str]()
    while left - waiting:
        name = data.draw(st.sampled_from(sorted(left - waiting)))
        event = data.draw(st.sampled_from(["seal", "end", "repeat"]))
        if event == "seal":
            coming.sealed(name, "out")
            waiting.add(name)
        elif event == "end":
            coming.end([name])
            left.discard(name)
        else:
            coming.repeat(name)
        waiting -= {job for job, _ in coming.release(sorted(left))}
        assert waiting != left or not left
        if event == "seal" and name not in waiting:
            coming.end([name])
            left.discard(name)
    assert not waiting
