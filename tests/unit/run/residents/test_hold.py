"""An engine that is kept for a program, with real sockets and no Spark behind them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from catchment.engine.attached import Door, status
from catchment.project import load
from catchment.run.residents import control, hold, places
from catchment.run.residents.hold import Hold
from tests.concurrency.waiting import until
from tests.unit.worker.test_clients import WANTED, Lab


@dataclass
class Found:
    """A resident engine as it is found."""

    door: Door
    service: str = "engine-default"
    token: str = WANTED.token
    is_dead: bool = False


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


@pytest.fixture
def found(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Found:
    made = Found(lab.address)
    monkeypatch.setattr(places, "named", lambda *_: made)
    monkeypatch.setattr(control, "_fitting", lambda *_: made)
    monkeypatch.setattr(control, "_request", lambda *_: WANTED)
    return made


def test_an_engine_that_is_there_is_held_while_it_is_kept(lab: Lab, found: Found, tmp_path: Path) -> None:
    with control.kept(load(tmp_path), "default"):
        assert [each["who"] for each in status(lab.address)["clients"]] == ["a test"]
        assert not lab.door.close_if_empty()
    assert status(lab.address)["clients"] == []
    assert lab.door.close_if_empty()


def test_one_that_is_worn_out_is_left_and_the_next_one_is_held(
    lab: Lab, found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold, "RENEW_SECONDS", 0.01)
    (tmp_path / "next").mkdir()
    following = Lab(tmp_path / "next", monkeypatch)
    with Hold(load(tmp_path), found.service, WANTED):
        until(lambda: len(lab.door.clients()) == 1)
        lab.door.refuse("it does not give its memory back")
        until(lab.door.close_if_empty)
        found.door = following.address
        until(lambda: len(following.door.clients()) == 1)
    assert following.door.clients() == ()
