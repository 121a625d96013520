"""Several engines that write and read one dataset at the same time, whatever the format."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from catchment.plan.model import Dataset
from tests.concurrency.waiting import await_sleep, worker_of
from tests.contract.formats.jobs import put, whole
from tests.contract.formats.kinds import Kind
from tests.spark.lake import LiveEngine


def test_engines_that_create_and_append_at_once(
    kind: Kind, here: LiveEngine, there: LiveEngine, target: Dataset
) -> None:
    sent = [engine.start_job(put(target, f"j{n}", 0, n, mode="append")) for n, engine in enumerate([here, there] * 2)]
    assert [pending.done()[0].rows for pending in sent] == [6, 6, 6, 6]
    assert kind.rows(here, target) == whole(j0=(0, 0), j1=(0, 1), j2=(0, 2), j3=(0, 3))
    kind.check(here, target)


def test_engines_that_replace_different_partitions(
    kind: Kind, here: LiveEngine, there: LiveEngine, target: Dataset
) -> None:
    here.run(put(target, "old", 0, 1, 2, 3, None))
    for pending in (here.start_job(put(target, "a", 0, 1)), there.start_job(put(target, "b", 2, None))):
        assert pending.done()[0].rows == 6
    assert kind.rows(here, target) == whole(a=(0, 1), b=(2, None), old=(3,))
    kind.check(here, target)


def test_engines_that_replace_the_same_partitions(
    kind: Kind, here: LiveEngine, there: LiveEngine, target: Dataset
) -> None:
    here.run(put(target, "old", 0, 1, 2))
    for pending in (here.start_job(put(target, "a", 0, 1)), there.start_job(put(target, "b", 0, 1))):
        pending.done()
    assert kind.rows(here, target) in (whole(a=(0, 1), old=(2,)), whole(b=(0, 1), old=(2,)))
    kind.check(here, target)


@pytest.mark.slow
def test_readers_see_the_old_state_or_the_new_one(
    kind: Kind,
    here: LiveEngine,
    start: Callable[..., LiveEngine],
    target: Dataset,
) -> None:
    here.run(put(target, "old", 0, 1, 2))
    writer = start(key="writer", fault=f"{kind.half_way}:stop")
    writer.ready()
    writing = writer.start_job(put(target, "new", 1, 2))
    await_sleep(worker_of(writer))
    seen = kind.rows(here, target)
    os.kill(worker_of(writer), signal.SIGCONT)
    writing.done()
    assert seen == whole(old=(0, 1, 2))
    assert kind.rows(here, target) == whole(old=(0,), new=(1, 2))
