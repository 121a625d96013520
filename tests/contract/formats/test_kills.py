"""An engine killed at every point of a write: what was durable is there once, and nothing is there twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from tests.concurrency.waiting import worker_of
from tests.contract.formats.jobs import put, whole
from tests.contract.formats.kinds import DELTA, ICEBERG, PAIMON, PARQUET, Kind
from tests.ledgers import Filled, end_leases, forget_engine
from tests.matrices import EXHAUSTIVE
from tests.spark.lake import UNPREPARED, LiveEngine, delta_depot, files_depot, lake_depot, paimon_depot

Start = Callable[..., LiveEngine]
WITH_JAVA = {
    ICEBERG: ("data-written", "before-swap"),
    PARQUET: ("data-written", "partition-published"),
    DELTA: ("data-written", "own-commit-applied"),
    PAIMON: ("data-written", "swap-applied"),
}
"""Where the Java of an engine is killed with it: before the seal and half-way. `processes/guest.py` says why the other
kills may spare it."""


@pytest.mark.slow
def test_killed_and_run_again(
    kind: Kind,
    point: str,
    here: LiveEngine,
    start: Start,
    ledger: Filled,
    target: Dataset,
) -> None:
    here.run(put(target, "old", 0, 1, None))
    kill_and_run_again(kind, point, here, start(key="victim", fault=f"{point}:kill"), ledger, target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "at"),
    [
        pytest.param(kind, point, id=f"{kind.name}-{point}", marks=EXHAUSTIVE if number == 0 else ())
        for kind, points in WITH_JAVA.items()
        for number, point in enumerate(points)
    ],
)
def test_killed_with_its_java_and_run_again(
    format: Kind, at: str, here: LiveEngine, start_java: Start, ledger: Filled, root: Path, fresh: str
) -> None:
    target, depots = format.dataset(root, fresh), _depots(format, root)
    here.run(put(target, "old", 0, 1, None))
    victim = start_java(*depots, key="victim", fault=f"{at}:kill", conf=UNPREPARED, spark=format.spark)
    kill_and_run_again(format, at, here, victim, ledger, target)


def _depots(kind: Kind, root: Path) -> tuple[Depot, ...]:
    if kind is PAIMON:
        return (paimon_depot(root),)
    return lake_depot(root), files_depot(root), delta_depot(root)


def kill_and_run_again(
    kind: Kind, point: str, here: LiveEngine, victim: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    """Let a write be killed and others come after it, then run it again."""
    work, run = put(target, "new", 1, None), f"r-{target.address}"
    assert isinstance(victim.start_job(work, run=run).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    seen = kind.rows(here, target)
    for part in (0, 1, None):  # whole in the old state or in the new one; plain files may for a while show both
        found = [row for row in seen if row[2] == part]
        assert found in (whole(old=(part,)), whole(new=(part,)), whole(old=(part,), new=(part,)))

    here.run(put(target, "late", 0, mode="append"))
    kept = point in kind.kept_at
    done, lost = whole(old=(0,), late=(0,), new=(1, None)), whole(old=(0, 1, None), late=(0,))
    assert kind.rows(here, target) == (done if kept else lost)

    owner = ledger.find(f"{run}/new/out").intent.owner
    [report] = here.run(work, run=run, number=2)
    assert report.rows == 6
    assert kind.rows(here, target) == done
    forget_engine(ledger.store, owner)
    [recovered] = here.recover(target)
    assert (recovered["published"], recovered["abandoned"], recovered["error"]) == ([], [], None)
    assert kind.rows(here, target) == done
    kind.check(here, target)
