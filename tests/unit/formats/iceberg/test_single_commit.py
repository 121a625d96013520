"""A commit of one write's files, with a table that says what the test wants."""

from __future__ import annotations

from typing import Any

import pytest

from catchment.errors import Cancelled
from catchment.formats.iceberg import single_commit
from catchment.formats.iceberg.single_commit import _Commit
from tests.ledgers import Filled


class Listener:
    """The user has cancelled the job."""

    def check(self) -> None:
        raise Cancelled("the job was cancelled")


class Fitting:
    """A table that takes every write."""

    def __init__(self, table: object) -> None:
        pass

    def refusal(self, write: object) -> None:
        return None


@pytest.mark.parametrize(("unsure", "removed"), [(set(), ["files"]), ({7}, [])])
def test_a_cancelled_commit_sends_nothing(
    unsure: set[int], removed: list[str], filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user may have started another run, under other write ids. Files that a late swap needs stay."""
    did: list[str] = []
    monkeypatch.setattr(single_commit, "Fit", Fitting)
    monkeypatch.setattr(_Commit, "_found", lambda _: None)
    monkeypatch.setattr(_Commit, "_staged", lambda _: None)
    monkeypatch.setattr(_Commit, "_send", lambda *_: did.append("sent"))
    monkeypatch.setattr(_Commit, "_remove_files", lambda _: did.append("files"))
    nothing: Any = None
    listener: Any = Listener()
    work = _Commit(nothing, nothing, filled.seal("r/j/o"), {}, listener, unsure=unsure)
    with pytest.raises(Cancelled):
        work.run()
    assert did == removed
