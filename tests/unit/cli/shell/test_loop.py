"""The shell with scripted engines, and the prompt with scripted keys."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from catchment.cli.shell import prompt
from catchment.cli.shell.completion import SqlCompleter, UnawaitedCompleter
from catchment.cli.shell.loop import Shell
from catchment.cli.shell.verb import shell as verb
from catchment.errors import CatchmentError, EngineLost, RequestError
from catchment.project.model import Address, Engine, Project
from catchment.run.lake_names import LakeNames
from catchment.run.query_result import QueryResult


class Lake:
    """An engine that says back what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.cancelled = False
        self.asks = True

    def query(self, sql: str, *, limit: int | None, published: bool, write: bool) -> QueryResult:
        self.asked.append(sql)
        if "slow" in sql:
            signal.raise_signal(signal.SIGINT)
            assert self.cancelled
            if "deaf" in sql:
                signal.raise_signal(signal.SIGINT)
            raise RequestError("the job was cancelled", code="cancelled")
        if "lost" in sql:
            raise EngineLost("the engine has gone")
        rows = ('["x", null]',) if "nothing" not in sql else ()
        return QueryResult(("said", "not said"), ('"string"', '"string"'), rows, truncated="many" in sql)

    def cancel(self) -> bool:
        self.cancelled = True
        return self.asks


class Nothing:
    """No engine."""

    def inspect(self, what: str, address: Address) -> Mapping[str, Any]:
        raise AssertionError("no engine runs")

    def inspect_beside(self, what: str, address: Address) -> Mapping[str, Any]:
        raise AssertionError("no engine runs")


class Names(LakeNames):
    """One table that only an engine can read."""

    def facts(self, what: str, address: Address) -> Mapping[str, Any]:
        if what == "tables":
            return {"tables": [{"namespace": "raw", "table": "trips"}]}
        return {"address": str(address), "rows": 3, "columns": [{"name": "id", "type": "long"}], "partitions": []}

    def depots(self) -> list[str]:
        return ["lake"]


@pytest.fixture
def lake() -> Lake:
    return Lake()


@pytest.fixture
def shell(lake: Lake, tmp_path: Path) -> Iterator[Shell]:
    project = Project(tmp_path, None, "", {}, {"default": Engine("default")})
    with click.Context(verb):
        yield Shell(lake, Names(project, Nothing()), limit=5)


def entered(shell: Shell, *texts: str) -> None:
    """Let the shell read these, and then its end."""
    left = [*texts]

    def read() -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    shell.run(read)


Captured = pytest.CaptureFixture[str]


def test_statements_are_answered_one_after_the_other(shell: Shell, lake: Lake, capsys: Captured) -> None:
    entered(shell, "SELECT 1; SELECT nothing;", "\\timing", "SELECT many;")
    out, err = capsys.readouterr()
    assert lake.asked == ["SELECT 1", "SELECT nothing", "SELECT many"]
    assert out.count("said   not said") == 3
    assert [line for line in err.splitlines() if "row" in line] == [
        *("1 row", "0 rows"),
        "only the first 1 rows are shown; `--limit` of the shell or LIMIT in SQL changes that",
    ]
    assert err.rstrip().endswith(" s")


def test_values_one_per_line(shell: Shell, capsys: Captured) -> None:
    entered(shell, "\\x", "SELECT 1;")
    assert capsys.readouterr().out == "row 1\n  said       x\n  not said   \n"


def test_tables_and_columns(shell: Shell, capsys: Captured) -> None:
    entered(shell, "\\d", "\\d lake.raw.trips", "\\d dataos://lake:raw/trips", "\\d lake.raw")
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines() if "trips" in line] == [
        ["lake", "raw", "trips"],
        *[["address:", "dataos://lake:raw/trips"]] * 2,
    ]
    assert out.count("long") == 2
    assert "error[bad-address]" in err


@pytest.mark.parametrize("fails", [True, False])
def test_depots_that_cannot_be_read_are_not_without_tables(
    shell: Shell, capsys: Captured, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    def facts(what: str, address: Address) -> Mapping[str, Any]:
        if fails:
            raise RequestError("nobody answers", code="catalog-unavailable")
        return {"tables": []}

    monkeypatch.setattr(shell.names, "facts", facts)
    monkeypatch.setattr(shell.names, "depots", lambda: ["lake", "river"])
    entered(shell, "\\d")
    err = capsys.readouterr().err
    assert (err.count("error[catalog-unavailable]"), "no tables yet" in err) == ((2, False) if fails else (0, True))


def test_errors_end_neither_the_shell_nor_what_comes_next(shell: Shell, lake: Lake, capsys: Captured) -> None:
    entered(shell, "SELECT lost; SELECT 1;", "\\nothing", "\\x maybe", "SELECT 2;")
    assert lake.asked == ["SELECT lost", "SELECT 2"]
    err = capsys.readouterr().err
    assert [code for code in ("engine-lost", "unknown-command", "bad-value") if f"error[{code}]" in err] == [
        *("engine-lost", "unknown-command", "bad-value"),
    ]


def test_names_are_forgotten_after_the_result_is_shown_and_after_an_error(
    shell: Shell, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell.names, "forget", lambda: print("forgotten"))
    entered(shell, "SELECT 1;", "SELECT lost;")
    out = capsys.readouterr().out
    assert out.index("not said") < out.index("forgotten")
    assert out.count("forgotten") == 2


def test_an_interrupt_cancels_the_statement_and_not_the_shell(shell: Shell, lake: Lake, capsys: Captured) -> None:
    before = signal.getsignal(signal.SIGINT)
    entered(shell, "SELECT slow; SELECT behind;", "SELECT slow and deaf;", "SELECT 2;")
    assert lake.asked == ["SELECT slow", "SELECT slow and deaf", "SELECT 2"]
    assert capsys.readouterr().err.splitlines().count("cancelled") == 1
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("asks", [True, False], ids=["an engine is asked", "no engine is asked"])
def test_an_interrupt_cancels_a_command(
    shell: Shell, lake: Lake, capsys: Captured, monkeypatch: pytest.MonkeyPatch, *, asks: bool
) -> None:
    lake.asks = asks
    found: list[str] = []

    def facts(what: str, address: Address) -> Mapping[str, Any]:
        found.append(address.depot)
        signal.raise_signal(signal.SIGINT)
        raise RequestError("the question was cancelled", code="cancelled")  # says the engine

    monkeypatch.setattr(shell.names, "facts", facts)
    monkeypatch.setattr(shell.names, "depots", lambda: ["lake", "river"])
    entered(shell, "\\d", "SELECT 2;")
    assert (found, lake.asked, lake.cancelled) == (["lake"], ["SELECT 2"], True)
    told = capsys.readouterr().err.splitlines()
    assert (told.count("cancelled"), "no tables yet" in told) == (int(asks), False)


@pytest.mark.parametrize("text", ["exit", "quit;", "\\q"])
def test_the_ways_out(shell: Shell, lake: Lake, text: str) -> None:
    entered(shell, text, "SELECT 1;")
    assert lake.asked == []


def typed(keys: str, history: History | None = None) -> list[str]:
    """What the prompt hands over of these keys, until its end."""
    history, found = history or InMemoryHistory(), []
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        read = prompt.reader(_nothing(), history, write=False, input=keyboard, output=DummyOutput())
        while True:
            try:
                found.append(read())
            except KeyboardInterrupt:
                found.append("^C")
            except EOFError:
                return found


def _nothing() -> Any:
    class Nothing:
        depots: Callable[[], list[str]] = staticmethod(list)

    return Nothing()


def test_a_statement_has_as_many_lines_as_it_needs() -> None:
    assert typed("SELECT 1,\r  ';'\r;\r\\d\rexit\r\x04") == ["SELECT 1,\n  ';'\n  ;", "\\d", "exit"]


class Hive:
    """Names that are there once they may be."""

    def __init__(self) -> None:
        self.looking, self.answer = threading.Event(), threading.Event()

    def depots(self) -> list[str]:
        return ["hive"]

    def tables(self, depot: str) -> list[tuple[str, str]]:
        self.looking.set()
        self.answer.wait()
        return [("raw", "trips")]

    def columns(self, depot: str, collection: str, table: str) -> list[str]:
        raise CatchmentError("a defect")


def test_a_line_is_handed_over_while_its_names_are_looked_up() -> None:
    hive = Hive()
    with ThreadPoolExecutor(1) as threads, create_pipe_input() as keyboard:
        read = prompt.reader(hive, InMemoryHistory(), write=False, input=keyboard, output=DummyOutput())
        try:
            entered = threads.submit(read)
            keyboard.send_text("SELECT * FROM hive.")
            assert hive.looking.wait(60)
            keyboard.send_text("a.b;\r")
            assert entered.result(60) == "SELECT * FROM hive.a.b;"
        finally:
            hive.answer.set()


def test_names_are_offered_when_they_are_found() -> None:
    hive = Hive()
    completer = UnawaitedCompleter(SqlCompleter(hive, ()))

    async def offered(text: str) -> list[str]:
        return [each.text async for each in completer.get_completions_async(Document(text), CompleteEvent())]

    hive.answer.set()
    assert asyncio.run(offered("SELECT * FROM hive.")) == ["raw"]
    with pytest.raises(CatchmentError):
        asyncio.run(offered("SELECT * FROM hive.raw.trips."))


def test_an_interrupt_drops_what_was_typed_and_the_history_has_the_rest() -> None:
    history = InMemoryHistory()
    assert typed("SELECT 1\x03SELECT 2;\r\x04", history) == ["^C", "SELECT 2;"]
    assert history.get_strings() == ["SELECT 2;"]


def test_the_history_is_for_its_owner_only_and_stays_in_the_project(tmp_path: Path) -> None:
    project = Project(tmp_path, None, "", {}, {"default": Engine("default")})
    assert isinstance(prompt.history_of(project), InMemoryHistory)
    project.home.mkdir()
    prompt.history_of(project).append_string("SELECT 'hidden';")
    [file] = project.home.iterdir()
    assert (file.stat().st_mode & 0o777, "hidden" in file.read_text()) == (0o600, True)
