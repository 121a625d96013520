"""Completes depots, collections, tables, columns and keywords in SQL, and the names after commands."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

_WORDS = """
    ALL ALTER ANALYZE AND ANTI AS ASC BETWEEN BY CASE CAST COLUMN COUNT CREATE CROSS CUBE CURRENT_DATE
    CURRENT_TIMESTAMP DELETE DESC DESCRIBE DISTINCT DROP ELSE END EXCEPT EXISTS EXPLAIN FALSE FILTER FIRST FROM FULL
    FUNCTIONS GROUP GROUPING HAVING IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LEFT LIKE LIMIT
    MATCHED MERGE NATURAL NOT NULL NULLS OF OFFSET ON OR ORDER OUTER OVER OVERWRITE PARTITION PIVOT QUALIFY RIGHT
    RLIKE ROLLUP ROWS SELECT SEMI SET SETS SHOW SUM TABLE TABLES TABLESAMPLE THEN TIMESTAMP TRUE UNION UNPIVOT UPDATE
    USING VALUES VERSION VIEW WHEN WHERE WINDOW WITH
"""
KEYWORDS = tuple(_WORDS.split())
_PART = r"(?:`[^`]+`|[\w-]+)"
_WORD = re.compile(r"(?:`[^`]*`?|[\w-])*(?:\.(?:`[^`]*`?|[\w-]*))*$")
_TABLE = re.compile(rf"({_PART})\.({_PART})\.({_PART})(?:\s+(?:as\s+)?([A-Za-z_]\w*))?", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_]\w*")


class Names(Protocol):
    """Where the names come from."""

    def depots(self) -> list[str]: ...
    def tables(self, depot: str) -> list[tuple[str, str]]: ...
    def columns(self, depot: str, collection: str, table: str) -> list[str]: ...


class SqlCompleter(Completer):
    """Completes the word before the cursor."""

    def __init__(self, names: Names, commands: Sequence[str]) -> None:
        self._names, self._commands = names, commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        if before.startswith("\\") and " " not in before:
            yield from _matching(before, self._commands)
            return
        found = _WORD.search(before)
        parts = [_unquoted(part) for part in (found[0] if found else "").split(".")]
        # An empty word may become anything, so nothing is offered for it unless the user requests completion.
        if parts == [""] and not complete_event.completion_requested:
            return
        yield from _matching(parts[-1], self._offered(document.text, parts, command=before.startswith("\\")))

    def _offered(self, text: str, parts: Sequence[str], *, command: bool) -> Iterator[str]:
        above = parts[:-1]
        if not above:
            yield from self._names.depots()
            if not command:
                yield from self._columns_of_tables(text)
                yield from KEYWORDS if parts[-1].isupper() or not parts[-1] else map(str.lower, KEYWORDS)
        elif above[0] not in self._names.depots():
            yield from self._columns_of_tables(text, above[-1])
        elif len(above) == 1:
            yield from dict.fromkeys(collection for collection, _ in self._names.tables(above[0]))
        elif len(above) == 2:
            yield from (table for collection, table in self._names.tables(above[0]) if collection == above[1])
        elif len(above) == 3:
            yield from self._names.columns(*above)

    def _columns_of_tables(self, text: str, qualifier: str | None = None) -> Iterator[str]:
        """The columns of the tables in a statement, or of those that a qualifier stands for."""
        depots = self._names.depots()
        for found in _TABLE.finditer(text):
            depot, collection, table = map(_unquoted, found.groups()[:3])
            if depot in depots and qualifier in (None, table, found[4]):
                yield from self._names.columns(depot, collection, table)


class UnawaitedCompleter(Completer):
    """Completes in threads that nobody waits for.

    With a thread of prompt_toolkit's own, the prompt would hand over no line before a name has been looked up.
    """

    def __init__(self, completer: Completer) -> None:
        self._completer = completer

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return self._completer.get_completions(document, complete_event)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        found: Future[list[Completion]] = Future()
        found.set_running_or_notify_cancel()  # from now on, a prompt that is over does not cancel it

        def complete() -> None:
            try:
                found.set_result(list(self._completer.get_completions(document, complete_event)))
            except BaseException as error:
                found.set_exception(error)

        threading.Thread(target=complete, name="completion", daemon=True).start()
        for completion in await asyncio.wrap_future(found):
            yield completion


def _matching(word: str, offered: Iterable[str]) -> Iterator[Completion]:
    for name in dict.fromkeys(offered):
        if name.lower().startswith(word.lower()) and name != word:
            quoted = name if _PLAIN.fullmatch(name) or name.startswith("\\") else f"`{name}`"
            yield Completion(quoted, start_position=-len(word), display=name)


def _unquoted(part: str) -> str:
    return part.strip("`")
