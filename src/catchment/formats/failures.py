"""Translates exceptions to Catchment's errors by class and condition; by text only where nothing else is available."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from catchment import os_errors
from catchment.errors import (
    CatchmentError,
    JobError,
    Retryable,
    SetupError,
    StorageUnavailable,
)
from catchment.formats.registry import all_traits
from catchment.formats.traits import Rule
from catchment.jvm.causes import Throwable, causes, stack_trace


def _of_formats(trait: Literal["unavailable", "refused"]) -> frozenset[str]:
    return frozenset().union(*(getattr(traits, trait) for traits in all_traits()))


VARIABLES = "credentials in environment variables reach engines only if `pass_environment` in catchment.yaml names them"

UNAVAILABLE = Rule(
    frozenset(
        {
            "java.net.SocketException",
            "java.net.SocketTimeoutException",
            "java.net.UnknownHostException",
            "java.sql.SQLNonTransientConnectionException",
            "java.sql.SQLTransientException",
            "org.apache.hadoop.fs.s3a.AWSApiCallTimeoutException",
            "org.apache.hadoop.fs.s3a.AWSServiceThrottledException",
            "org.apache.hadoop.fs.s3a.AWSStatus500Exception",
            "org.apache.hadoop.fs.s3a.HttpChannelEOFException",
            "org.apache.http.NoHttpResponseException",
            "org.postgresql.util.PSQLException",
            "org.sqlite.SQLiteException",
            "software.amazon.awssdk.core.exception.SdkClientException",
            *_of_formats("unavailable"),
        }
    ),
    StorageUnavailable,
    None,
    "a store or catalog did not answer",
    f"check that it is running and can be reached from this machine; {VARIABLES}",
)

_LOST_EXECUTOR = re.compile(
    r"ExecutorLostFailure \(executor (?P<id>\S+).*?exit(?:ed with)?(?: exit)? (?:code|status):? (?P<code>\d+)",
    re.DOTALL | re.IGNORECASE,
)
_NO_DIRECTORY = re.compile(r"Mkdirs failed to create file:(?P<place>/.*?)(?: \(exists=|$)")
OUT_OF_MEMORY_EXIT = 52
"""Spark's exit code for an executor that ran out of memory."""

EXECUTOR_LOST = "executor-lost"
LOST_HINT = (
    "their logs on the cluster say why; one that was killed (137 or 143) has often used more memory than the cluster "
    "allows: raise spark.executor.memoryOverhead, or lower spark.executor.memory"
)
SPLIT = "split it into several steps, or raise Java's stack with -Xss in spark.driver.extraJavaOptions"
RULES = (
    Rule(
        frozenset({"java.lang.OutOfMemoryError"}),
        JobError,
        "out-of-memory",
        "the engine ran out of memory",
        "raise spark.driver.memory (or spark.executor.memory) of the engine, or run fewer jobs at once with --jobs",
    ),
    Rule(
        frozenset({"java.lang.StackOverflowError"}),
        JobError,
        "sql-too-deep",
        "the SQL is nested too deeply for Spark",
        SPLIT,
    ),
    Rule(
        frozenset({"java.net.BindException"}),
        SetupError,
        "port-in-use",
        "a port that the engine needs is in use",
        "choose another port in the engine's `conf`, or remove the setting so that Spark chooses one",
    ),
    Rule(
        frozenset({"java.util.concurrent.RejectedExecutionException"}),
        Retryable,
        EXECUTOR_LOST,
        "an executor was ending when it got a task",
        f"if others of the job have ended too, {LOST_HINT}",
    ),
    *(rule for traits in all_traits() for rule in traits.rules),
    Rule(
        frozenset(
            {
                "java.nio.file.AccessDeniedException",
                "org.apache.hadoop.security.AccessControlException",
                *_of_formats("refused"),
            }
        ),
        JobError,
        "no-permission",
        "access was refused",
        f"check the permissions of the location and the credentials of the depot; {VARIABLES}",
    ),
    UNAVAILABLE,
)

ONE_FOR_EACH = (
    "let the last step return at most one row per row of the table, for example with row_number() or max_by()"
)
RAISED = "USER_RAISED_EXCEPTION"
"""Spark's error condition for raise_error() and assert_true()."""
CHECK_FAILED = "check-failed"
AFTER_A_CHECK = "nothing was written; look at the rows that the check refuses, or change the check"
CONDITIONS = {
    "PARSE_SYNTAX_ERROR": ("sql-syntax", "correct the SQL at this place"),
    "FAILED_TO_PARSE_TOO_COMPLEX": ("sql-too-deep", SPLIT),
    "UNRESOLVED_COLUMN": ("column-not-found", "check the spelling, and that the input or step before has this column"),
    "UNRESOLVED_FIELD": ("column-not-found", "check the spelling of the field"),
    "INVALID_NON_DETERMINISTIC_EXPRESSIONS": (
        "not-deterministic",
        "the rows are read more than once: write rows that use rand() or uuid() to a table first",
    ),
    "MERGE_CARDINALITY_VIOLATION": ("merge-cardinality", ONE_FOR_EACH),
    "TABLE_OR_VIEW_NOT_FOUND": (
        "table-or-view-not-found",
        "SQL can name the job's inputs, its earlier steps, and tables as depot.collection.table",
    ),
    "PATH_NOT_FOUND": ("input-not-found", "check the address, and where the depot's `location` points"),
    "UNABLE_TO_INFER_SCHEMA": ("input-empty", "put data there first, or give the input a schema"),
    **{condition: known for traits in all_traits() for condition, known in traits.conditions.items()},
}


def from_spark(error: BaseException, *, otherwise: str = "sql-failed") -> CatchmentError:
    """The Catchment error for an exception of Spark; `otherwise` is the code if nothing more specific is known."""
    if isinstance(error, CatchmentError):
        return error
    if isinstance(error, OSError) and (known := os_errors.explained(error)) is not None:
        return known
    detail = stack_trace(error)
    chain = tuple(causes(error))
    ways = (_by_rule, _by_status, _by_executor, _by_system, _by_directory)
    known = next(filter(None, (way(chain, detail) for way in ways)), None)
    return known or _by_condition(chain, detail, otherwise, error)


def _rule_error(rule: Rule, cause: Throwable, detail: str) -> CatchmentError:
    said = "; ".join(line.strip(" .") for line in cause.message.splitlines()) if rule.thrown_by else first_line(cause)
    message = f"{rule.message}: {said}" if rule.message else said
    return rule.error(message, code=rule.code, hint=rule.hint, detail=detail)


def _by_rule(chain: Sequence[Throwable], detail: str) -> CatchmentError | None:
    found = ((rule, cause) for rule in RULES for cause in chain if _applies(rule, cause))
    return next((_rule_error(rule, cause, detail) for rule, cause in found), None)


def _applies(rule: Rule, cause: Throwable) -> bool:
    return bool(cause.classes & rule.classes) and rule.thrown_by in ("", cause.thrown_by)


def _by_status(chain: Sequence[Throwable], detail: str) -> CatchmentError | None:
    """The error if a store answered that it is overloaded or unavailable."""
    busy = (cause for cause in chain if cause.status is not None and (cause.status >= 500 or cause.status == 429))
    return next((_rule_error(UNAVAILABLE, cause, detail) for cause in busy), None)


def _by_executor(chain: Sequence[Throwable], detail: str) -> CatchmentError | None:
    """The error if executors of a cluster ended in the middle of their tasks."""
    # The driver gets nothing but text from the cluster manager about how a process has ended.
    found = next(filter(None, (_LOST_EXECUTOR.search(cause.message) for cause in chain)), None)
    if found is None:
        return None
    if int(found["code"]) == OUT_OF_MEMORY_EXIT:
        message = f"executor {found['id']} ran out of memory and ended, as did those that tried its task before"
        return JobError(message, code="out-of-memory", hint="raise spark.executor.memory of the engine", detail=detail)
    return Retryable(
        f"executor {found['id']} ended with exit code {found['code']}, as did those that tried its task before",
        code=EXECUTOR_LOST,
        hint=LOST_HINT,
        detail=detail,
    )


def _by_system(chain: Sequence[Throwable], detail: str) -> CatchmentError | None:
    # The JVM does not pass on the number of the operating system's error, only its text.
    for cause in chain:
        if cause.classes & {"java.io.IOException", "org.apache.hadoop.fs.FSError"}:
            numbers = (number for number in os_errors.ERRORS if os.strerror(number) in cause.message)
            if (number := next(numbers, None)) is not None:
                return os_errors.from_number(number, first_line(cause), detail)
    return None


def _by_directory(chain: Sequence[Throwable], detail: str) -> CatchmentError | None:
    """The error if a local directory cannot be made: Java does not say why, so the system is asked again."""
    for cause in reversed(chain):  # the messages of the others quote the innermost one
        if (found := _NO_DIRECTORY.search(cause.message)) is not None:
            return os_errors.refusal(Path(found["place"]), first_line(cause), detail)
    return None


def _by_condition(chain: Sequence[Throwable], detail: str, otherwise: str, error: BaseException) -> CatchmentError:
    for cause in reversed(chain):  # an inner condition is more specific
        if cause.condition == RAISED:
            return JobError(f"a check failed: {first_line(cause)}", code=CHECK_FAILED, hint=AFTER_A_CHECK)
        if cause.condition and (known := _known_condition(cause.condition)):
            return JobError(_reason(cause, chain[-1]), code=known[0], hint=known[1], detail=detail)
    for cause in chain:
        if "org.apache.spark.sql.catalyst.parser.ParseException" in cause.classes:
            return JobError(first_line(cause), code="sql-syntax", hint="correct the SQL at this place", detail=detail)
    if not chain:
        return JobError(f"{type(error).__name__}: {error}", code="internal", detail=detail)
    # The innermost cause with a condition is the most specific; the outermost often only says "job aborted".
    specific = [cause for cause in chain if cause.condition] or chain
    return JobError(first_line(specific[-1]), code=otherwise, hint="the job's log has the details", detail=detail)


def _known_condition(condition: str) -> tuple[str, str] | None:
    return CONDITIONS.get(condition) or CONDITIONS.get(condition.partition(".")[0])


def _reason(cause: Throwable, innermost: Throwable) -> str:
    known = first_line(cause)
    return known if cause is innermost else f"{known.rstrip('.')}: {first_line(innermost)}"


def first_line(cause: Throwable) -> str:
    """The first line of a JVM message, without Spark's error class and SQLSTATE."""
    text = cause.message.strip() or _described(cause)
    line = re.split(r"\n|; line \d+ pos \d+|\(line \d+, pos \d+\)", text, maxsplit=1)[0]
    line = re.sub(r"^\[[A-Z0-9_.]+\] ", "", line)
    return re.sub(r" SQLSTATE: \w{5}", "", line).strip().rstrip(";:")


def _described(cause: Throwable) -> str:
    """What can be said of an exception without a message: its class, and who threw it."""
    name = str(cause.java.getClass().getName())
    return f"{name} (thrown by {cause.thrown_by})" if cause.thrown_by else name
