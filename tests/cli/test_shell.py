"""The shell at a real terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from catchment.store import read_store
from tests.cli import program, projects
from tests.cli.test_lifetimes import NEVER_ENDS
from tests.spark.hosts import Host

PROMPT = "sql>"
LEFT = "\x1b[?2004l"
"""What is written when the prompt is left: pasted text is no longer marked."""
TERMINAL = {"PROMPT_TOOLKIT_NO_CPR": "1", "PAGER": "cat", "TERM": "xterm", "NO_COLOR": "1"}
ENDLESS = f"{NEVER_ENDS};"


@pytest.fixture
def project(tmp_path: Path, lent: Host) -> Path:
    root = projects.make(tmp_path)
    sql = "CREATE TABLE lakehouse.shop.orders AS SELECT id AS number FROM range(3)"
    program.call("query", "--write", "--yes", "CREATE NAMESPACE lakehouse.shop", cwd=root, java=lent)
    assert program.call("query", "--write", "--yes", sql, cwd=root, java=lent).code == 0
    return root


@pytest.fixture
def terminal(project: Path, lent: Host) -> Iterator[pexpect.spawn]:
    """A shell that is ready."""
    [command, *arguments], way = program.entry(lent)
    shell = pexpect.spawn(
        command,
        [*arguments, "shell"],
        cwd=str(project),
        env={**os.environ, **way, **TERMINAL},
        dimensions=(50, 200),
        encoding="utf-8",
        timeout=120,
    )
    shell.expect_exact(PROMPT)
    yield shell
    shell.close(force=True)


@pytest.mark.slow
def test_a_conversation(terminal: pexpect.spawn, project: Path) -> None:
    """Statements of several lines, commands, an error, a cancelled statement, and the way out."""
    enter(terminal, "SELECT sum(number)\r  AS total FROM lakehouse.shop.orders;")
    terminal.expect(r"total\s")
    terminal.expect(r"\s3\s")
    terminal.expect_exact("1 row")
    terminal.expect_exact(PROMPT)
    enter(terminal, "\\d lakehouse.shop.orders")
    terminal.expect(r"number\s+long")
    terminal.expect_exact(PROMPT)
    enter(terminal, "DROP TABLE lakehouse.shop.orders;")
    terminal.expect_exact("error[side-effects]")
    terminal.expect_exact(PROMPT)
    enter(terminal, ENDLESS)
    _interrupt_when_it_runs(terminal, project)
    terminal.expect_exact("cancelled")
    terminal.expect_exact(PROMPT)
    enter(terminal, "SELECT 6 * 7 AS answer;")
    terminal.expect(r"\s42\s")
    terminal.expect_exact(PROMPT)
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert ENDLESS in (project / ".catchment" / "shell_history").read_text()


def enter(terminal: pexpect.spawn, text: str) -> None:
    """Type at the prompt, and see it left: a Ctrl-C that comes sooner drops the line."""
    terminal.send(f"{text}\r")
    terminal.expect_exact(LEFT)


def _interrupt_when_it_runs(terminal: pexpect.spawn, project: Path) -> None:
    """Press Ctrl-C once the engine has recorded that somebody reads."""
    program.wait_until(lambda: has_readers(project), "the statement has begun")
    terminal.sendintr()


def has_readers(project: Path) -> bool:
    """Whether anybody is recorded as reading the lake."""
    with read_store(f"sqlite:///{project}/.catchment/metastore.db") as store:
        return store.readers.oldest() is not None
