"""Identifies JVM exceptions by their classes and Spark's error condition, never by their text."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

MAX_CAUSES = 20
JVM_ERRORS = (Py4JJavaError, PySparkException)
"""What a call into the JVM raises; PySpark converts some Java exceptions, such as IllegalArgumentException."""


@dataclass(frozen=True)
class Throwable:
    """One exception of a chain of causes."""

    java: Any = field(repr=False)

    @cached_property
    def classes(self) -> frozenset[str]:
        """The full names of its class and of all superclasses."""
        names, current = set(), self.java.getClass()
        while current is not None:
            names.add(str(current.getName()))
            current = current.getSuperclass()
        return frozenset(names)

    @cached_property
    def condition(self) -> str | None:
        """Spark's error condition (`UNRESOLVED_COLUMN.WITH_SUGGESTION`), if it has one."""
        found = self._call_spark_method("getErrorClass")  # the name that both Spark 3.5 and Spark 4 have
        return str(found) if found is not None else None

    @cached_property
    def fragments(self) -> tuple[tuple[int, str], ...]:
        """The pieces of SQL that Spark blames: where each starts in its statement, and its text."""
        contexts = self._call_spark_method("getQueryContext") or ()
        return tuple((int(context.startIndex()), str(context.fragment())) for context in contexts)

    @cached_property
    def place(self) -> tuple[int, int] | None:
        """Line (from 1) and column (from 0) in the statement, if Spark's analysis gives them."""
        if "org.apache.spark.sql.AnalysisException" not in self.classes or self.java.line().isEmpty():
            return None
        column = self.java.startPosition()
        return int(self.java.line().get()), int(column.get()) if column.isDefined() else 0

    @cached_property
    def status(self) -> int | None:
        """The HTTP status (403, 503) that an AWS service answered with, if one did."""
        answered = "software.amazon.awssdk.core.exception.SdkServiceException" in self.classes
        return int(self.java.statusCode()) if answered else None

    @cached_property
    def sql_state(self) -> str | None:
        """The SQLSTATE code (five characters), if it is an exception of a database."""
        return str(self.java.getSQLState()) if "java.sql.SQLException" in self.classes else None

    def _call_spark_method(self, method: str) -> Any:
        """The result of a method of SparkThrowable, which also exceptions of formats implement; None if it has none."""
        if not _implements(self.java.getClass(), "org.apache.spark.SparkThrowable"):
            return None
        try:
            return getattr(self.java, method)()
        except Py4JError:
            return None  # py4j does not see methods that only an interface defines

    @cached_property
    def thrown_by(self) -> str:
        """The full name of the class that threw it, directly or by a precondition; empty if Java does not know."""
        names = (str(frame.getClassName()) for frame in self.java.getStackTrace())
        return next((name for name in names if not name.endswith(".Preconditions")), "")

    @property
    def message(self) -> str:
        return str(self.java.getMessage() or "")


def causes(error: BaseException) -> Iterator[Throwable]:
    """The JVM exceptions behind a Python exception, outermost first; none if only Python failed."""
    current = _java(_hidden_error(error))
    for _ in range(MAX_CAUSES):
        if current is None:
            return
        yield Throwable(current)
        current = current.getCause()


def first_cause(error: BaseException) -> Throwable:
    """The outermost JVM exception of a call into the JVM."""
    return next(causes(error))


def _implements(kind: Any, name: str) -> bool:
    """Whether a Java class, or a class or interface that it inherits from, has this name."""
    if kind is None:
        return False
    above = (kind.getSuperclass(), *kind.getInterfaces())
    return kind.getName() == name or any(_implements(each, name) for each in above)


def _java(error: BaseException) -> Any:
    return error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)


def _hidden_error(error: BaseException) -> BaseException:
    """The exception that PySpark has hidden: it replaces errors that are not Spark's own with an internal error."""
    original, java = error.__context__, _java(error)
    masked = isinstance(original, Py4JJavaError) and java is not None and Throwable(java).condition == "INTERNAL_ERROR"
    return original if masked and original is not None else error


def is_a(error: BaseException, *classes: str) -> bool:
    """Whether the exception, or one of its causes, is of one of these Java classes."""
    return any(cause.classes.intersection(classes) for cause in causes(error))


def stack_trace(error: BaseException) -> str:
    """The Python stack followed by the JVM's, for developers."""
    ours = "".join(traceback.format_exception(error))
    theirs = [_format_stack(cause) for cause in itertools.islice(causes(error), 1)]
    return "\n".join((ours, *theirs))


def _format_stack(throwable: Throwable) -> str:
    frames = (f"\tat {frame.toString()}" for frame in throwable.java.getStackTrace())
    return "\n".join((str(throwable.java.toString()), *frames))
