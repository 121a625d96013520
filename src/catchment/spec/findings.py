"""Collects the problems of a workflow while it is read, so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Iterable

from catchment.errors import Diagnostic, Position, Severity


class Findings:
    """The diagnostics so far."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def error(self, code: str, message: str, where: Position, hint: str | None = None) -> None:
        """Report a problem that keeps the workflow from running."""
        self._found.append(Diagnostic(code, message, where, hint))

    def warning(self, code: str, message: str, where: Position, hint: str | None = None) -> None:
        """Report something that runs, but perhaps not as intended."""
        self._found.append(Diagnostic(code, message, where, hint, Severity.WARNING))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add diagnostics found elsewhere."""
        self._found.extend(diagnostics)

    def in_order(self, first_file: str) -> tuple[Diagnostic, ...]:
        """All diagnostics without duplicates, ordered by file and line; `first_file` comes first."""
        start = Position(first_file, 0, 0)
        unique = dict.fromkeys(self._found)
        return tuple(sorted(unique, key=lambda d: ((w := d.where or start).file != first_file, w, d.code)))
