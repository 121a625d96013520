"""A row of the ledger that nobody can read is set aside with its reason; the other writes of the table go on."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.commit.recovery import unfinished
from catchment.errors import JobError
from catchment.store.writes import Entry
from tests.ledgers import ALIVE, TARGET, Filled, describe, packed_lines

OTHERS = tuple(f"r/j/{number}" for number in (1, 2, 4, 5))
SPOILT = "r/j/3"


def _packed(text: bytes) -> str:
    return base64.b64encode(zlib.compress(text)).decode()


DAMAGES = {
    "not packed": "????",
    "cut off": _packed(b'{"record-count": 10}')[:16],
    "not text": _packed(b"\xff\xfe"),
    "not JSON": packed_lines("{"),
    "another shape": packed_lines('"record-count"'),
    "something missing": packed_lines("{}"),
    "gone": None,
}


@dataclass
class Reading:
    """A table that reads the descriptors of what it takes."""

    batch: int = 10
    removes_buffers: bool = False
    taken: list[int] = field(default_factory=list)

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        rows = [int(file["record-count"]) for write in batch if write.contents for file in write.contents.descriptors]
        self.taken.extend(rows)
        return Outcome({write.write_id: 7 for write in batch})

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize("how", DAMAGES)
def test_the_write_is_set_aside_and_the_others_go_on(filled: Filled, how: str) -> None:
    for number in range(1, 6):
        filled.seal(f"r/j/{number}", rows=number)
    describe(filled, SPOILT, DAMAGES[how])
    table = Reading()
    publisher = Publisher(filled.store, filled.ledger, TARGET, ALIVE, table)
    with pytest.raises(JobError) as failed:
        publisher.publish(SPOILT)
    assert (failed.value.code, SPOILT in failed.value.message) == ("write-set-aside", True)
    assert [publisher.publish(write_id).state for write_id in OTHERS] == ["committed"] * 4
    assert table.taken == [1, 2, 4, 5]  # in the order of their seals
    [shown] = filled.store.activity.writes()
    assert (shown.write_id, shown.state, (shown.error or {})["code"]) == (SPOILT, "sealed", "write-set-aside")
    [found] = unfinished(filled.store)
    assert [(each.write_id, each.code) for each in found.set_aside] == [(SPOILT, "write-set-aside")]


def test_a_person_tries_it_again_or_drops_it(filled: Filled) -> None:
    whole = filled.seal(SPOILT)
    describe(filled, SPOILT, "????")
    publisher = Publisher(filled.store, filled.ledger, TARGET, ALIVE, Reading())
    assert publisher.consolidate()
    filled.store.decisions.retry(SPOILT)
    with pytest.raises(JobError):
        publisher.publish(SPOILT)
    assert filled.open(SPOILT).state == "sealed"  # its job, which is run again, puts it back into the queue too
    assert publisher.consolidate()
    filled.store.decisions.drop(SPOILT)
    assert (filled.states(SPOILT), filled.left()) == (["abandoned"], [whole.intent.buffer])
    assert filled.open(SPOILT, buffer="/lake/data/again").state == "open"


def test_trouble_of_the_table_is_nobodys_fault(filled: Filled) -> None:
    """Only errors of reading are blamed on a write: what a store or a catalog says holds for all of them."""

    class Troubled(Reading):
        def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
            raise RuntimeError("the table is not there")

    filled.seal("r/j/1")
    with pytest.raises(RuntimeError):
        Publisher(filled.store, filled.ledger, TARGET, ALIVE, Troubled()).consolidate()
    assert filled.ledger.waits("r/j/1")
