"""Before a write is refused, no commit that was sent earlier may be able to publish it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from catchment.commit.publisher import Outcome
from catchment.formats.paimon import consolidate, sealed_messages
from catchment.formats.paimon.consolidate import Consolidation
from tests.ledgers import Filled


class Refused(PySparkException):  # type: ignore[misc]
    """What Java raises when a commit is not made."""


class Table:
    """A table whose store answers questions, but takes no commit."""

    spark = java = None
    id = "the table"

    def newest(self) -> None:
        return None

    def commit(self, *_: object) -> int:
        raise Refused("the commit was not made")


@pytest.fixture
def doubtful(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> tuple[Consolidation, Any]:
    """A consolidation, and a write of it whose commit was sent earlier without an answer."""
    table: Any = Table()
    nothing: Any = None
    monkeypatch.setattr(consolidate, "commits", lambda _: table)
    monkeypatch.setattr(sealed_messages, "messages_of", lambda *_: [])
    monkeypatch.setattr(Consolidation, "_look", lambda *_: None)
    sealed = filled.seal("r/a/out")
    base = replace(sealed.intent.base, table_uuid=table.id)
    write = replace(sealed, tried=True, intent=replace(sealed.intent, base=base))
    return Consolidation(table, nothing, [write], nothing, Outcome(), lambda: None), write


def test_a_write_is_not_refused_while_the_store_takes_no_commit(
    doubtful: tuple[Consolidation, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidate, "has_moved", lambda _: False)
    work, write = doubtful
    with pytest.raises(Refused):
        work._is_out(write)


def test_a_commit_by_others_is_as_good_as_a_fence(
    doubtful: tuple[Consolidation, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidate, "has_moved", lambda _: True)
    work, write = doubtful
    assert work._is_out(write)
