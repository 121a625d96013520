"""Checks that an input's options choose something that is in the history of its table.

Paimon itself finds out only while the output is being written. Of a time before the history it says nothing: it reads
the oldest snapshot instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from catchment.errors import JobError
from catchment.formats.paimon import read_options as names
from catchment.formats.paimon.table import Table
from catchment.jvm.classes import Jvm
from catchment.plan.model import InputPlan


def check(source: InputPlan, table: Table) -> None:
    """Raise unless the table has what the options choose."""
    if names.TIME_TRAVEL.isdisjoint(source.options):
        return
    problem = _Selection(source.options, table).problem()
    if problem is not None:
        code, message, hint = problem
        raise JobError(f"input {source.name}: {message}", code=code, where=source.where, hint=hint)


class _Selection:
    """What the options of an input choose in the history of one table."""

    def __init__(self, options: Mapping[str, str], table: Table) -> None:
        self._options, self._table = options, table
        self._snapshots = table.java.snapshotManager()
        self._earliest, self._newest = self._snapshots.earliestSnapshotId(), self._snapshots.latestSnapshotId()

    def problem(self) -> tuple[str, str, str] | None:
        """Code, message and hint of what is not there; None if everything is."""
        for name in (names.SNAPSHOT, names.TAG, names.VERSION):
            if name in self._options and (found := self._version(self._options[name], name)):
                return found
        return self._between() or self._times() or self._changelog()

    def _version(self, asked: str, name: str) -> tuple[str, str, str] | None:
        if name == names.TAG or not asked.isdigit():
            return self._tag(asked)
        if name == names.VERSION and asked in self._table.tags():
            return None
        return self._number(int(asked), self._earliest)

    def _between(self) -> tuple[str, str, str] | None:
        first, _, last = self._options.get(names.BETWEEN, "").partition(",")
        if not first:
            return None
        if not (first.isdigit() and last.isdigit()):
            return self._tag(first) or self._tag(last)
        # The first one is not read itself, so it may be the one before the oldest.
        return self._number(int(first), (self._earliest or 1) - 1) or self._number(int(last), self._earliest)

    def _times(self) -> tuple[str, str, str] | None:
        asked = self._time()
        if asked is None or self._earliest is None:
            return None
        oldest = self._snapshots.snapshot(self._earliest).timeMillis()
        # All of a table that has lost nothing yet came after such a time.
        if asked >= oldest or (names.BETWEEN_MILLIS in self._options and self._earliest == 1):
            return None
        message = f"the oldest snapshot of the table, {self._earliest}, is newer than the time that is asked for"
        return "snapshot-not-found", message, "`catchment table snapshots` lists them with their times"

    def _time(self) -> int | None:
        if names.BETWEEN_MILLIS in self._options:
            return int(self._options[names.BETWEEN_MILLIS].partition(",")[0])
        found = Jvm.of(self._table.spark)("org.apache.paimon.CoreOptions")(dict(self._options)).scanTimestampMills()
        return None if found is None else int(found)

    def _changelog(self) -> tuple[str, str, str] | None:
        kept = self._table.options.get("changelog-producer", "none").lower() != "none"
        if self._options.get(names.SCAN_MODE) != "changelog" or kept:
            return None
        message = f"the table keeps no changelog, so `{names.SCAN_MODE}: changelog` would read nothing"
        return "unsupported-option", message, "write `delta`, or give the table a `changelog-producer`"

    def _tag(self, name: str) -> tuple[str, str, str] | None:
        tags = self._table.tags()
        if name in tags:
            return None
        hint = f"it has {', '.join(sorted(tags))}" if tags else "it has no tag at all"
        return "tag-not-found", f"the table has no tag {name}", hint

    def _number(self, number: int, least: int | None) -> tuple[str, str, str] | None:
        if least is not None and least <= number <= self._newest:
            return None
        has = f"its snapshots are {self._earliest} to {self._newest}" if self._earliest else "it has none"
        message = f"the table has no snapshot {number}: {has}"
        return "snapshot-not-found", message, "`catchment table snapshots` lists them"
