"""A run whose id was chosen beforehand: the same call starts it and goes on with it, and never repeats side effects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment import process_identity
from catchment.errors import LeaseHeld, RequestError
from catchment.run_model import RunRequest
from catchment.store import open_store
from catchment.store.runs import lease_name
from tests.unit.run.conftest import Lab, job, statuses

RUN = "20260504-030000-aaaaaa"


def test_the_same_call_starts_a_run_and_goes_on_with_it(lab: Lab) -> None:
    first = lab.run(job("a"), job("b", "fail job", "a"), run_id=RUN, request=RunRequest("2026-05-04T03:00:00+00:00"))
    assert (first.run_id, statuses(first)) == (RUN, {"a": "succeeded", "b": "failed"})
    second = lab.run(job("a"), job("b", "", "a"), run_id=RUN)
    assert (second.run_id, second.status) == (RUN, "succeeded")
    begun = lab.trace("begin")
    assert [(line["job"], line["number"]) for line in begun] == [("a", 1), ("b", 1), ("b", 2)]
    assert {line["reference_time"] for line in begun} == {"2026-05-04T03:00:00+00:00"}


def test_a_run_that_has_succeeded_is_not_begun_again(lab: Lab) -> None:
    lab.run(job("a"), run_id=RUN)
    assert lab.run(job("a"), run_id=RUN).status == "succeeded"
    assert len(lab.trace("begin")) == 1


def test_a_run_that_another_process_executes_is_left_to_it(lab: Lab) -> None:
    with open_store(lab.project.metastore) as store:
        store.leases.acquire(lease_name(RUN), "another", 60.0, process_identity.identity())
    with pytest.raises(LeaseHeld):
        lab.run(job("a"), run_id=RUN)
    assert lab.trace("begin") == []


def test_side_effects_that_were_interrupted_are_not_repeated(lab: Lab) -> None:
    lab.run(replace(job("a", "fail job"), side_effects=True), run_id=RUN)
    with pytest.raises(RequestError) as caught:
        lab.run(replace(job("a"), side_effects=True), run_id=RUN)
    assert caught.value.code == "side-effects-interrupted"
    assert f"catchment resume {RUN}" in (caught.value.hint or "")
    assert len(lab.trace("begin")) == 1
