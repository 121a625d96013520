"""A run tells its engines when nobody else is to come, so that no sealed write waits in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from catchment.plan.model import Dataset, JobPlan
from catchment.spec.model import Retry
from tests.unit.run.conftest import Lab, job, statuses

SHARED = Dataset("dataos://lake:raw/shared", "lake", "iceberg", "raw", "shared")


def lingering(name: str, script: str = "linger", *needs: str, **more: str) -> JobPlan:
    """A job that seals its output and waits for as long as the run lets it."""
    plain = job(name, script, *needs, engine=more.get("engine", "default"), retry=Retry(1, "Always"))
    return replace(plain, outputs=(replace(plain.outputs[0], dataset=SHARED, linger=600.0),))


def story(lab: Lab) -> list[str]:
    return [line["what"] for line in lab.trace() if line["what"] in ("sealed", "published")]


@pytest.mark.parametrize("engines", ["default", "abc"])
def test_all_are_published_when_the_last_has_sealed(lab: Lab, engines: str) -> None:
    names = dict(zip("abc", engines if engines == "abc" else [engines] * 3, strict=True))
    result = lab.run(*(lingering(name, engine=engine) for name, engine in names.items()))
    assert result.status == "succeeded"
    assert story(lab) == ["sealed"] * 3 + ["published"] * 3


def test_a_failed_job_and_those_behind_it_are_not_waited_for(lab: Lab) -> None:
    result = lab.run(lingering("a"), lingering("b"), lingering("bad", "fail job"), lingering("behind", "linger", "bad"))
    assert statuses(result) == {"a": "succeeded", "b": "succeeded", "bad": "failed", "behind": "skipped"}
    assert story(lab) == ["sealed"] * 2 + ["published"] * 2


def test_a_job_that_is_tried_again_is_waited_for(lab: Lab) -> None:
    result = lab.run(lingering("a"), lingering("b", "fail transient 1; linger"))
    assert result.status == "succeeded"
    assert story(lab) == ["sealed"] * 2 + ["published"] * 2


def test_jobs_that_cannot_begin_before_others_end_are_not_waited_for(lab: Lab) -> None:
    result = lab.run(*map(lingering, "abcd"), jobs=2)
    assert result.status == "succeeded"
    assert story(lab)[:3] == ["sealed", "sealed", "published"]
    assert story(lab).count("published") == 4


def test_a_job_that_waits_for_memory_is_not_waited_for(lab: Lab) -> None:
    result = lab.run(lingering("a"), lingering("b", "crowded; linger"))
    assert result.status == "succeeded"
    assert story(lab) == ["sealed", "published"] * 2


def test_a_job_lost_with_its_engine_while_it_waited_comes_again(lab: Lab) -> None:
    flag = lab.root / "sealed"
    dying = lingering("a", f"until {flag}; die 1; linger", engine="other")
    threading.Thread(target=_once_sealed, args=(lab, flag.touch), daemon=True).start()
    result = lab.run(lingering("b"), dying)
    assert result.status == "succeeded"
    assert story(lab) == ["sealed"] * 2 + ["published"] * 2


def test_a_run_that_is_cancelled_leaves_nothing_waiting(lab: Lab) -> None:
    stop = threading.Event()
    threading.Thread(target=_once_sealed, args=(lab, stop.set), daemon=True).start()
    result = lab.run(lingering("a"), lingering("b", "hang"), stop=stop)
    assert statuses(result) == {"a": "succeeded", "b": "cancelled"}


def _once_sealed(lab: Lab, act: Callable[[], None]) -> None:
    while not lab.trace("sealed"):
        time.sleep(0.05)
    act()
