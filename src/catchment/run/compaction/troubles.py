"""What went wrong with the tables and depots of a lake: as it is told, and as it is reported in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from catchment.errors import CatchmentError
from catchment.events.messages import error_paragraph
from catchment.run.results import ErrorReport


def paragraph(error: CatchmentError) -> str:
    """An error as text: its code, what happened, where, and what to do next."""
    return error_paragraph(asdict(ErrorReport.of(error)))


@dataclass
class Troubles:
    """The errors of tables and depots, by address."""

    _unreadable: dict[str, CatchmentError] = field(default_factory=dict)
    """What cannot be looked at now."""
    _failed: dict[str, CatchmentError] = field(default_factory=dict)
    """The last error of each table that something was done to."""

    def unreadable(self, address: str, error: CatchmentError) -> bool:
        """Note that something cannot be looked at; returns whether that is news."""
        known = self._unreadable.get(address)
        self._unreadable[address] = error
        return known is None or (known.code, known.message) != (error.code, error.message)

    def readable(self, address: str) -> None:
        """Note that something can be looked at."""
        self._unreadable.pop(address, None)

    def failed(self, address: str, error: CatchmentError) -> None:
        """Note that something could not be done to a table."""
        self._failed[address] = error

    def forget(self, address: str) -> None:
        """Drop what was noted of something that does not exist any more."""
        self._unreadable.pop(address, None)
        self._failed.pop(address, None)

    def is_unreadable(self, address: str) -> bool:
        """Whether something cannot be looked at now."""
        return address in self._unreadable

    def report(self) -> Sequence[Mapping[str, Any]]:
        """One error for each table and depot that has one."""
        known = {**self._failed, **self._unreadable}
        return [{"address": address, **asdict(ErrorReport.of(error))} for address, error in sorted(known.items())]
