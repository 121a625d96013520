"""Programs that write a Paimon table without Catchment: their commits come between a seal and its publication."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.plan.model import Dataset, JobPlan
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, writing
from tests.spark.paimon.jobs import appending, await_sealed, ids, keyed, lease_held, snapshots

pytestmark = pytest.mark.slow


def replacing_nothing_new(target: Dataset, name: str) -> JobPlan:
    """A job that replaces the table, unless others have committed to it since."""
    return writing("SELECT 9L AS id", target, name=name, mode="overwrite", conflict="fail")


def writers(engine: LiveEngine, target: Dataset) -> list[int]:
    """How many writes of Catchment each snapshot has; 0 is a commit by somebody else."""
    return [len(each["write_ids"]) for each in snapshots(engine, target)]


def test_a_commit_from_outside_between_seal_and_publication_is_kept(
    here: LiveEngine, ledger: Filled, target: Dataset, root: Path
) -> None:
    here.run(appending(target, 0))
    with lease_held(ledger, target, root):
        sealed = here.start_job(appending(target, 5, "sealed"))
        await_sealed(ledger, target, 1)
        careful = here.start_job(replacing_nothing_new(target, "careful"))
        await_sealed(ledger, target, 2)
        here.ask(f"INSERT INTO {target.identifier} VALUES (10L)")
    assert sealed.done()[0].snapshot_id == "3"
    refused = careful.failed()
    assert (refused.code, refused.retryable) == ("partitions-changed", True)
    assert (ids(here, target), writers(here, target)) == (list(range(11)), [1, 0, 1])


def test_keys_that_somebody_else_put_into_dynamic_buckets_are_not_there_twice(
    here: LiveEngine, ledger: Filled, target: Dataset, root: Path
) -> None:
    small = {"bucket": "-1", "dynamic_bucket__target_row_num": "1"}
    here.run(keyed("SELECT id, 'old' AS v FROM range(2)", target, **small))
    with lease_held(ledger, target, root):
        sealed = here.start_job(keyed("SELECT id, 'ours' AS v FROM range(2, 6)", target, name="sealed", **small))
        await_sealed(ledger, target, 1)
        here.ask(f"INSERT INTO {target.identifier} SELECT id, 'theirs' FROM range(4, 8)")
    assert sealed.done()[0].rows == 4
    assert ids(here, target) == list(range(8))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_commit_from_outside_just_before_the_swap_is_kept(
    here: LiveEngine, start_older: Callable[..., LiveEngine], target: Dataset, mode: str
) -> None:
    here.run(appending(target, 0))
    sleeper = start_older(key="sleeper", fault="before-swap:stop")
    sleeper.ready()
    slow = sleeper.start_job(writing("SELECT id FROM range(5, 10, 1, 1)", target, name="slow", mode=mode))
    await_sleep(worker_of(sleeper))
    here.ask(f"INSERT INTO {target.identifier} VALUES (10L)")
    os.kill(worker_of(sleeper), signal.SIGCONT)
    assert slow.done()[0].snapshot_id == "3"
    assert ids(here, target) == (list(range(11)) if mode == "append" else list(range(5, 10)))
    assert writers(here, target) == [1, 0, 1]
