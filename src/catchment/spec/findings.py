"""Collects the problems of a workflow while it is read, so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Iterable

from catchment.errors import Diagnostic, Position, Severity

Range = tuple[Position, Position]
"""The first and the last position of a value."""


class Findings:
    """The diagnostics collected so far."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._causes: set[Diagnostic] = set()
        self._settled: dict[Range, None] = {}

    def error(self, code: str, message: str, where: Position, hint: str | None = None) -> None:
        """Report a problem that keeps the workflow from running."""
        self._found.append(Diagnostic(code, message, where, hint))

    def warning(self, code: str, message: str, where: Position, hint: str | None = None) -> None:
        """Report something that runs, but perhaps not as intended."""
        self._found.append(Diagnostic(code, message, where, hint, Severity.WARNING))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add diagnostics found elsewhere."""
        self._found.extend(diagnostics)

    def settle(self, places: Iterable[Range]) -> None:
        """Hide every later diagnostic about these values: their problem has already been reported."""
        self._causes.update(self._found)
        self._settled.update(dict.fromkeys(places))

    @property
    def settled(self) -> tuple[Range, ...]:
        """The values whose problem has been reported."""
        return tuple(self._settled)

    def in_order(self, first_file: str) -> tuple[Diagnostic, ...]:
        """All diagnostics without duplicates, ordered by file, line and text; `first_file` comes first."""
        start = Position(first_file, 0, 0)
        unique = (each for each in dict.fromkeys(self._found) if each in self._causes or not self._is_settled(each))
        return tuple(sorted(unique, key=lambda d: ((w := d.where or start).file != first_file, w, d.code, d.message)))

    def _is_settled(self, found: Diagnostic) -> bool:
        where = found.where
        return where is not None and any(start <= where <= end for start, end in self._settled)
