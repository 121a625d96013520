"""Inputs that are not there: told by validate, refused by a run, unless they may yet come."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import InvalidFiles
from catchment.plan.missing_inputs import require_inputs
from tests.unit.plan.flows import FILES, INPUT, PROJECT, J, flow, place, prepare


def test_an_input_that_is_not_there_is_told_and_refused(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, flow(J("a")))
    assert [(place(each)[:2], each.is_error) for each in prepared.missing] == [(("input-not-found", INPUT), False)]
    with pytest.raises(InvalidFiles) as caught:
        require_inputs(prepared.require()[1])
    assert [place(each)[:2] for each in caught.value.diagnostics] == [("input-not-found", INPUT)]
    (tmp_path / "dropzone" / "trips").mkdir(parents=True)
    there = prepare(tmp_path, flow(J("a")))
    assert there.missing == ()
    require_inputs(there.require()[1])


def test_a_job_that_is_retried_may_wait_for_its_input(tmp_path: Path) -> None:
    text = flow(J("a")).replace("    spec:\n", "    retry: {count: 3, duration: 1m}\n    spec:\n")
    prepared = prepare(tmp_path, text)
    assert [each.code for each in prepared.missing] == ["input-not-found"]
    require_inputs(prepared.require()[1])


MAYBE = {
    "another job makes it": (
        flow(
            J("a", read="dataos://lakehouse:raw/x", read_more="", write=FILES),
            J("b", needs="a", read="dataos://drop:none/out/day"),
        ),
        PROJECT,
    ),
    "a table": (flow(J("b", read="dataos://lakehouse:raw/x", read_more="")), PROJECT),
    "on another machine": (
        flow(J("b")),
        PROJECT.replace("  big:", "  default: {master: 'spark://far:7077'}\n  big:"),
    ),
    "in a store": (flow(J("b")), PROJECT.replace("./dropzone", "s3a://bucket/drop")),
}


@pytest.mark.parametrize(("text", "project"), MAYBE.values(), ids=MAYBE.keys())
def test_where_it_may_be_there_nothing_is_said(tmp_path: Path, text: str, project: str) -> None:
    assert prepare(tmp_path, text, project).missing == ()
