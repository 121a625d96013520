"""What a command and a process that takes it over agree on."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from catchment.handover import code, surroundings, within


def test_the_code_is_the_same_as_long_as_no_file_changes() -> None:
    assert code() == code()


@pytest.mark.parametrize("deep", [1, 30])
def test_a_socket_may_be_deep_in_the_file_system(deep: int, tmp_path: Path) -> None:
    place = tmp_path.joinpath(*["directory"] * deep)
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with within(str(place / "socket")) as name:
            server.bind(name)
        server.listen()
        with within(str(place / "socket")) as name:
            client.connect(name)
    assert (place / "socket").is_socket()


def test_a_command_on_other_cores_has_other_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    here = surroundings()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {99})
    assert surroundings() != here


def test_surroundings_survive_json() -> None:
    assert json.loads(json.dumps(surroundings())) == surroundings()
