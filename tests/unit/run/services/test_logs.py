"""A log is followed as it is written, also when a new one is begun, and to its last line."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.engine.pipes import LogFile
from catchment.run.services import logs


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LOOK_SECONDS", 0.0)


def test_everything_is_read_until_the_service_has_ended(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "service.log", limit=14)
    lines = [f"line {number}\n" for number in range(9)]
    left = list(lines)

    def has_ended() -> bool:
        if left:
            log.write(left.pop(0))
            return not left
        return True

    assert "".join(logs.follow(log.path, has_ended)) == "".join(lines)
    assert log.path.read_text() == "line 8\n"
    log.close()
