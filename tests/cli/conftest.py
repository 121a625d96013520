from __future__ import annotations

import pytest

from catchment.engine.launcher import EngineProcess
from tests.spark.hosts import Host
from tests.spark.processes.attached import borrowing


@pytest.fixture
def lent(engine: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A Java for the program (`program.call(..., java=lent)`) and for the engines that a test starts from Python."""
    monkeypatch.setattr(EngineProcess, "__init__", borrowing(engine.gateway_file))
    return engine
