"""A metastore that loses a write while it is being published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.errors import CatchmentError, JobError, Retryable
from catchment.store.writes import Entry
from tests.ledgers import ALIVE, TARGET, Filled


@dataclass(frozen=True)
class Table:
    """A table that takes every write, unless something else happens."""

    meanwhile: Callable[[Sequence[Entry]], Outcome | None]
    batch: int = 10
    removes_buffers: bool = False

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        return self.meanwhile(batch) or Outcome({write.write_id: 7 for write in batch})

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        return ()


def publisher(filled: Filled, meanwhile: Callable[[Sequence[Entry]], Outcome | None]) -> Publisher[Table]:
    return Publisher(filled.store, filled.ledger, TARGET, ALIVE, Table(meanwhile))


def test_a_write_that_is_lost_after_its_swap_is_recorded_again(filled: Filled) -> None:
    filled.seal("r/j/o")
    told: list[str] = []
    done = publisher(filled, lambda _: filled.lose("r/j/o")).publish("r/j/o", told.append)
    assert (done.state, done.snapshot_id, done.contents.rows if done.contents else None) == ("committed", 7, 10)
    [warning] = told
    assert warning.startswith(f"metastore-behind: {TARGET} has 1 writes")


def test_a_write_that_is_lost_before_its_swap_is_worth_another_attempt(filled: Filled) -> None:
    filled.seal("r/j/o")

    def fail_over(_: Sequence[Entry]) -> Outcome:
        filled.lose("r/j/o")
        return Outcome()

    with pytest.raises(Retryable) as lost:
        publisher(filled, fail_over).publish("r/j/o")
    assert lost.value.code == "metastore-behind"


def test_a_write_that_is_set_aside_fails_alone(filled: Filled) -> None:
    filled.seal("r/j/spoilt")
    filled.seal("r/j/good")
    why = JobError("its files cannot be read", code="write-set-aside", hint="drop it")

    def spoil(batch: Sequence[Entry]) -> Outcome:
        bad: dict[str, CatchmentError] = {write.write_id: why for write in batch if write.write_id == "r/j/spoilt"}
        return Outcome({write.write_id: 7 for write in batch if write.write_id not in bad}, set_aside=bad)

    publishing = publisher(filled, spoil)
    with pytest.raises(JobError) as refused:
        publishing.publish("r/j/spoilt")
    assert (refused.value.code, refused.value.hint) == ("write-set-aside", "drop it")
    assert publishing.publish("r/j/good").snapshot_id == 7
    assert filled.states("r/j/spoilt", "r/j/good") == ["sealed", "committed"]
