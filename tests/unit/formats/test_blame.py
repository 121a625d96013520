"""Writes are set aside for what they are, never for the trouble of an engine or a store."""

from __future__ import annotations

from typing import Any

import pytest

from catchment.commit.publisher import Outcome
from catchment.formats import descriptor_memory
from catchment.formats.blame import are_to_blame
from catchment.formats.iceberg.consolidate import Consolidation, _Unusable
from catchment.store.writes import Entry
from tests.ledgers import contents, intent
from tests.unit.formats.raised import FromJava, Raised

NOBODY: Any = None
SERVICE = "software.amazon.awssdk.core.exception.SdkServiceException"
OUT_OF_MEMORY = FromJava(Raised("Java heap space", "java.lang.OutOfMemoryError"))
OF_THE_STORE = FromJava(Raised("the key is disabled", SERVICE, 400))
OF_THE_WRITE = FromJava(Raised("Invalid partition specId: 7", "java.lang.IllegalArgumentException"))
SMALL = [Entry(intent(f"r/j/{n}"), "sealed", False, contents(), None, None, n) for n in range(2)]


@pytest.mark.parametrize(
    ("error", "blamed"), [(OUT_OF_MEMORY, False), (OF_THE_STORE, False), (OF_THE_WRITE, True)], ids=str
)
def test_who_is_to_blame(error: Exception, blamed: bool) -> None:
    assert are_to_blame(SMALL, error) is blamed


def test_a_write_that_may_have_filled_the_memory_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catchment.formats.blame.FITS_ANYWHERE", descriptor_memory.size_of(SMALL[:1]))
    assert are_to_blame(SMALL, OUT_OF_MEMORY)
    assert not are_to_blame(SMALL[:1], OUT_OF_MEMORY)


@pytest.mark.parametrize("writes", [SMALL, SMALL[:1]], ids=["several", "one"])
def test_an_engine_without_memory_sets_nothing_aside(writes: list[Entry]) -> None:
    work = Consolidation(NOBODY, writes, NOBODY, Outcome(), lambda: None)
    with pytest.raises(FromJava):
        work._set_aside(_Unusable(writes, OUT_OF_MEMORY))
    assert not work.outcome.set_aside
    assert not work.alone
