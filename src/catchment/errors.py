"""Every error of Catchment: a code, what happened, where, and what to do next.

Whether an error is worth another attempt depends on its type (`Retryable` or not), never on its text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, order=True)
class Position:
    """A place in a text file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Severity(str, Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a file: shown to people with the offending line, given to programs as data."""

    code: str
    message: str
    where: Position | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


class CatchmentError(Exception):
    """Base of every error that a user may see. It is immutable: to add to it, raise a changed copy."""

    code = "internal"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        where: Position | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message: Final = message
        self.code = code or type(self).code
        self.hint: Final = hint
        self.where: Final = where
        self.detail: Final = detail
        """Details for developers, such as a stack trace; shown only with --debug and in log files."""

    def changed(self, *, message: str | None = None, hint: str | None = None, where: Position | None = None) -> Self:
        """A copy with the given values changed; everything else stays, including its cause and traceback."""
        copy = type(self).__new__(type(self))
        copy.args = self.args if message is None else (message,)
        given = {"message": message, "hint": hint, "where": where}
        vars(copy).update(vars(self), **{name: value for name, value in given.items() if value is not None})
        copy.__cause__, copy.__context__ = self.__cause__, self.__context__
        copy.__suppress_context__ = self.__suppress_context__
        return copy.with_traceback(self.__traceback__)

    def at(self, where: Position | None) -> Self:
        """The error with a position, unless it has one already."""
        return self if self.where is not None or where is None else self.changed(where=where)

    def __setattr__(self, name: str, value: Any) -> None:
        # Python itself sets attributes such as __traceback__, even more than once.
        if name in vars(self) and not name.startswith("__"):
            raise AttributeError(f"an error does not change: use changed({name}=…), which gives a copy")
        super().__setattr__(name, value)


class RequestError(CatchmentError):
    """The request is wrong: exit code 2."""

    code = "bad-request"


class InvalidFiles(RequestError):
    """A workflow or project file has problems; all of them are in `diagnostics`."""

    code = "invalid-files"

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        errors = sum(d.is_error for d in self.diagnostics)
        super().__init__(f"{errors} problem{'s' if errors != 1 else ''} found")


class SetupError(CatchmentError):
    """This machine lacks something: Java, a package, a permission. Exit code 2; another attempt will not help."""

    code = "setup"


class LeaseHeld(CatchmentError):
    """Another process holds the lease: exit code 4."""

    code = "lease-held"


class LeaseLost(LeaseHeld):
    """Another process took over a lease that this one held: everything that depends on the lease must stop."""

    code = "lease-lost"


class Cancelled(CatchmentError):
    """A person cancelled the work: exit code 130."""

    code = "cancelled"


class JobError(CatchmentError):
    """A job failed in a way that another attempt on the same data will repeat."""

    code = "job-failed"


class Retryable(CatchmentError):
    """A job failed for a reason that may go away by itself."""

    code = "transient"


class EngineLost(Retryable):
    """The engine died, hung or sent invalid messages; its attempts are lost, but the run is not."""

    code = "engine-lost"


class EngineOutOfMemory(EngineLost):
    """The engine ran out of memory and ended. Whether another attempt may help depends on what else it was running."""

    code = "out-of-memory"


class CommitConflict(Retryable):
    """Another writer committed first and the format could not reconcile the two."""

    code = "commit-conflict"


class StorageUnavailable(Retryable):
    """A store or catalog did not answer."""

    code = "storage-unavailable"


class MetastoreUnavailable(StorageUnavailable):
    """The metastore did not answer: the requested change may or may not have been made."""

    code = "metastore-unavailable"
