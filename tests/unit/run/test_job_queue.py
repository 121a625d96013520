"""Whatever the DAG and whatever fails: order, limits and skipping hold."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from catchment.run.job_queue import JobQueue


@st.composite
def dags(draw: st.DrawFn) -> dict[str, list[str]]:
    size = draw(st.integers(1, 12))
    return {
        f"j{n}": [f"j{m}" for m in draw(st.sets(st.integers(0, n - 1), max_size=3))] if n else [] for n in range(size)
    }


@given(dag=dags(), bad=st.sets(st.integers(0, 11)), kept=st.sets(st.integers(0, 11)), seed=st.integers())
def test_every_job_ends_as_its_dependencies_say(
    dag: dict[str, list[str]], bad: set[int], kept: set[int], seed: int
) -> None:
    order = random.Random(seed)
    failing = {f"j{n}" for n in bad}
    before = {f"j{n}" for n in kept} & dag.keys()
    queue, ended, taken = JobQueue(dag, before), dict.fromkeys(before, "succeeded"), []
    while queue:
        while (job := queue.take()) is not None:
            assert all(ended.get(needed) == "succeeded" for needed in dag[job])
            taken.append(job)
        job = taken.pop(order.randrange(len(taken)))
        if job in failing:
            ended |= dict.fromkeys(queue.fail(job), "skipped") | {job: "failed"}
        else:
            queue.succeed(job)
            ended[job] = "succeeded"
    assert not taken
    assert ended == _expected(dag, failing - before, before)


def _expected(dag: dict[str, list[str]], failing: set[str], before: set[str]) -> dict[str, str]:
    expected: dict[str, str] = {}
    for job, needs in dag.items():
        if job in before:
            expected[job] = "succeeded"
        elif any(expected[needed] != "succeeded" for needed in needs):
            expected[job] = "skipped"
        else:
            expected[job] = "failed" if job in failing else "succeeded"
    return expected


def test_ready_jobs_are_taken_in_plan_order() -> None:
    queue = JobQueue({"c": [], "a": [], "b": []})
    assert [queue.take() for _ in range(4)] == ["c", "a", "b", None]


def test_a_job_given_back_keeps_its_place() -> None:
    queue = JobQueue({"a": [], "b": []})
    assert queue.take() == "a"
    queue.give_back("a")
    assert queue.ready == ("a", "b")


def test_an_abandoned_job_is_never_taken() -> None:
    queue = JobQueue({"a": [], "b": ["a"]})
    assert queue.take() == "a"
    queue.abandon("b")
    queue.succeed("a")
    assert queue.take() is None
    assert not queue
