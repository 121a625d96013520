"""`writers` and `recover`, as far as they go without an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catchment.cli.program import program
from catchment.store import open_store
from tests.ledgers import ALIVE, LOST, TARGET, Filled

Invoke = Callable[..., Result]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    (tmp_path / "catchment.yaml").write_text("depots:\n  lake: {kind: iceberg, location: ./lake}\n")
    with open_store(f"sqlite:///{tmp_path}/.catchment/metastore.db") as store:
        yield Filled(store)


@pytest.fixture
def invoke(tmp_path: Path, filled: Filled) -> Invoke:
    return lambda *arguments: CliRunner().invoke(program, [*arguments, "--project", str(tmp_path)])


def test_nobody_writes(invoke: Invoke) -> None:
    text, data = invoke("writers"), invoke("writers", "-o", "json")
    assert (text.exit_code, text.stdout, text.stderr) == (0, "", "no table is being written\n")
    assert json.loads(data.stdout) == {"tables": []}


def test_writers_are_shown_with_their_buffers(invoke: Invoke, filled: Filled) -> None:
    filled.engine()
    filled.store.leases.acquire(f"table/{TARGET}", ALIVE, 600.0)
    filled.open("r/j/open", owner=ALIVE)
    filled.seal("r/j/sealed", rows=7, owner=LOST)
    filled.commit("r/j/done", 5)
    lines = invoke("writers").stdout.splitlines()
    assert lines[0] == (f"{TARGET}: 1 open, 1 sealed, {ALIVE} consolidates, 0.2 commits/min of 0.2 writes/min")
    assert lines[1].split() == ["write", "state", "seconds", "rows", "bytes", "engine"]
    assert [line.split()[:2] for line in lines[3:5]] == [["r/j/open", "open"], ["r/j/sealed", "sealed"]]
    assert lines[3].split()[3:] == [ALIVE]
    assert lines[4].split()[3:] == ["7", "100", LOST, "(lost)"]


def test_leftovers_are_mentioned_with_what_removes_them(invoke: Invoke, filled: Filled) -> None:
    filled.abandon("r/j/given-up")
    assert "files of 1 abandoned writes are left: `catchment recover` removes them" in invoke("writers").stdout


def test_writers_as_data(invoke: Invoke, filled: Filled) -> None:
    filled.seal("r/j/sealed", rows=7)
    [table] = json.loads(invoke("writers", "-o", "json").stdout)["tables"]
    assert set(table) == {"target", "writes", "lease", "commits_per_minute", "writes_per_minute", "leftovers"}
    assert set(table["writes"][0]) == {
        "write_id", "workflow", "target", "branch", "mode", "state", "engine", "buffer", "buffered", "alive", "rows",
        "bytes", "files", "seconds", "error",
    }  # fmt: skip


def test_nothing_to_recover_is_said_at_once(invoke: Invoke, filled: Filled) -> None:
    filled.commit("r/j/done", 5)
    text, data = invoke("recover"), invoke("recover", "-o", "json")
    assert (text.exit_code, text.stdout, text.stderr) == (0, "", "nothing to recover\n")
    assert json.loads(data.stdout) == {"dry_run": False, "tables": [], "learned": {}}


def test_writes_of_living_engines_are_not_recovered(invoke: Invoke, filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/open", owner=ALIVE)
    result = invoke("recover", "--yes")
    assert result.exit_code == 0
    assert "1 open writes belong to engines that are still alive" in result.stderr
    assert filled.states("r/j/open") == ["open"]


def test_a_dry_run_shows_everything_and_changes_nothing(invoke: Invoke, filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/mine", owner=ALIVE)
    filled.open("r/j/lost")
    filled.seal("r/j/sealed")
    filled.abandon("r/j/given-up")
    before = (filled.states("r/j/lost", "r/j/sealed"), filled.left())
    data, text = invoke("recover", "--dry-run", "-o", "json"), invoke("recover", "--dry-run")
    expected = {
        "table": TARGET,
        "published": ["r/j/sealed"],
        "refused": [],
        "abandoned": ["r/j/lost"],
        "removed": ["/lake/data/r.j.lost", "/lake/data/r.j.given-up"],
        "kept": [],
        "alive": ["r/j/mine"],
        "error": None,
    }
    assert json.loads(data.stdout) == {"dry_run": True, "tables": [expected], "learned": {}}
    rows = [line.split() for line in text.stdout.splitlines()[2:]]
    assert [TARGET, "would", "be", "published", "r/j/sealed"] in rows
    assert [TARGET, "engine", "is", "alive", "r/j/mine"] in rows
    assert (filled.states("r/j/lost", "r/j/sealed"), filled.left()) == before


def test_files_are_kept_where_nobody_can_be_asked(invoke: Invoke, filled: Filled) -> None:
    filled.abandon("r/j/given-up")
    result = invoke("recover", "-o", "json")
    assert result.exit_code == 0
    assert "--yes removes them" in result.stderr
    [table] = json.loads(result.stdout)["tables"]
    assert (table["kept"], table["removed"]) == (["/lake/data/r.j.given-up"], [])
    assert filled.left() == ["/lake/data/r.j.given-up"]


SPOILT = {"code": "write-set-aside", "message": "its files cannot be read", "hint": "drop it"}


def test_a_write_that_was_set_aside_is_shown_with_its_reason(invoke: Invoke, filled: Filled) -> None:
    filled.ledger.set_aside(filled.seal("r/j/spoilt"), SPOILT)
    shown, recovered = invoke("writers").stdout, invoke("recover")
    assert "0 open, 0 sealed, 1 set aside: `catchment recover --retry` or `--drop` them" in shown
    assert "its files cannot be read" in shown.splitlines()
    assert recovered.exit_code == 1
    assert "refused: write-set-aside" in recovered.stdout
    assert "its files cannot be read" in recovered.stdout
    assert filled.states("r/j/spoilt") == ["sealed"]


def test_a_write_that_was_set_aside_is_dropped(invoke: Invoke, filled: Filled) -> None:
    filled.ledger.set_aside(filled.seal("r/j/spoilt"), SPOILT)
    result = invoke("recover", "--drop", "r/j/spoilt", "-o", "json")
    [table] = json.loads(result.stdout)["tables"]
    assert (result.exit_code, table["refused"], table["kept"]) == (0, [], ["/lake/data/r.j.spoilt"])
    assert filled.states("r/j/spoilt") == ["abandoned"]


def test_a_person_says_what_became_of_a_write(invoke: Invoke, filled: Filled) -> None:
    filled.abandon("r/j/unknown", {"code": "history-expired", "message": "nobody can tell", "hint": None})
    assert invoke("recover", "--accept-as", "committed", "r/j/unknown").exit_code == 0
    assert filled.states("r/j/unknown") == ["committed"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--retry", "r/j/none"), "write-not-found"),
        (("--drop", "r/j/good"), "write-not-so"),
        (("--accept-as", "lost", "r/j/good"), "write-not-so"),
        (("--accept-as", "perhaps", "r/j/good"), "perhaps"),
        (("--drop", "r/j/good", "--dry-run"), "--dry-run"),
    ],
)
def test_what_cannot_be_decided_is_refused(
    invoke: Invoke, filled: Filled, arguments: tuple[str, ...], words: str
) -> None:
    filled.seal("r/j/good")
    refused = invoke("recover", *arguments)
    assert refused.exit_code == 2
    assert words in refused.stderr + str(getattr(refused.exception, "code", ""))
    assert filled.states("r/j/good") == ["sealed"]
