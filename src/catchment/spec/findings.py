"""What was found while a workflow is read: collected, never raised, so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Iterable

from catchment.errors import Diagnostic, Position, Severity


class Findings:
    """The diagnostics so far."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def error(self, code: str, message: str, where: Position, hint: str | None = None) -> None:
        """Tell of a problem that keeps the workflow from running."""
        self._found.append(Diagnostic(code, message, where, hint))

    def warning(self, code: str, message: str, where: Position, hint: str | None = None) -> None:
        """Tell of something that runs, but perhaps not as meant."""
        self._found.append(Diagnostic(code, message, where, hint, Severity.WARNING))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add what another part found."""
        self._found.extend(diagnostics)

    def in_order(self, first_file: str) -> tuple[Diagnostic, ...]:
        """Everything found, each once, in the order of the files' lines; `first_file` comes first."""
        start = Position(first_file, 0, 0)
        unique = dict.fromkeys(self._found)
        return tuple(sorted(unique, key=lambda d: ((w := d.where or start).file != first_file, w, d.code)))
