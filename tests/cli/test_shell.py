"""The shell at a real terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from catchment.store import read_store
from tests.cli import program, projects
from tests.spark.hosts import Host

PROMPT = "sql>"
TERMINAL = {"PROMPT_TOOLKIT_NO_CPR": "1", "PAGER": "cat", "TERM": "xterm", "NO_COLOR": "1"}
ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE rand() > 2;"


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
@pytest.mark.exhaustive
def test_a_conversation(terminal: pexpect.spawn, project: Path) -> None:
    """Statements of several lines, commands, an error, a cancelled statement, and the way out."""
    terminal.send("SELECT sum(number)\r  AS total FROM lakehouse.shop.orders;\r")
    terminal.expect(r"total\s")
    terminal.expect(r"\s3\s")
    terminal.expect_exact("1 row")
    terminal.send("\\d lakehouse.shop.orders\r")
    terminal.expect(r"number\s+long")
    terminal.send("DROP TABLE lakehouse.shop.orders;\r")
    terminal.expect_exact("error[side-effects]")
    terminal.send(f"{ENDLESS}\r")
    terminal.expect_exact("range")
    _interrupt_when_it_runs(terminal, project)
    terminal.expect_exact("cancelled")
    terminal.expect_exact(PROMPT)  # what is typed before it may be lost
    terminal.send("SELECT 6 * 7 AS answer;\r")
    terminal.expect(r"\s42\s")
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert ENDLESS in (project / ".catchment" / "shell_history").read_text()


def _interrupt_when_it_runs(terminal: pexpect.spawn, project: Path) -> None:
    """Press Ctrl-C once the engine has recorded that somebody reads."""
    program.wait_until(lambda: _readers(project), "the statement has begun")
    terminal.sendintr()


def _readers(project: Path) -> bool:
    with read_store(f"sqlite:///{project}/.catchment/metastore.db") as store:
        return store.readers.oldest() is not None
