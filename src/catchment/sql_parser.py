"""Parses SQL outside Spark, to find names in it. Spark has the last word: it knows more SQL than this parser."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from sqlglot import exp

Result = TypeVar("Result")

_FRAMES = 50_000
_STACK_BYTES = 512 * 1024 * 1024
"""This is address space; only what is used takes memory."""
_deep = threading.Lock()


def parse(sql: str) -> exp.Expr | None:
    """The parsed first statement of a text; None if this parser cannot read it."""
    import sqlglot  # slow to import, and not every statement has to be parsed

    try:
        return nested(lambda: sqlglot.parse_one(sql, read="spark"))
    except Exception:  # for SQL that only Spark knows, sqlglot raises more than its own errors
        return None


def nested(work: Callable[[], Result]) -> Result:
    """The result of work on SQL that may be nested more deeply than Python's recursion limit allows."""
    try:
        return work()
    except RecursionError:
        return _with_deep_stack(work)


def _with_deep_stack(work: Callable[[], Result]) -> Result:
    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    # Both limits apply to the whole process, so only one thread at a time may change them.
    with _deep:
        frames, size = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(max(frames, _FRAMES))
        try:
            thread = threading.Thread(target=run, name="catchment-sql")
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(frames)
            threading.stack_size(size)
    return result.result()
