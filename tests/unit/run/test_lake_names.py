"""Names that are looked up while a catalog does not answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from catchment.project import load
from catchment.project.model import Address
from catchment.run import inspection
from catchment.run.inspection import What
from catchment.run.lake_names import LakeNames


class NoEngine:
    """No engine has been started."""

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        raise AssertionError("no engine runs")

    def inspect_beside(self, what: What, address: Address) -> Mapping[str, Any]:
        raise AssertionError("no engine runs")


def test_a_look_that_takes_long_delays_nobody_and_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking, answer = threading.Event(), threading.Event()

    def read(*_: object) -> Mapping[str, Any]:
        looking.set()
        answer.wait()
        return {"tables": [{"namespace": "raw", "table": "old"}]}

    monkeypatch.setattr(inspection, "read", read)
    names = LakeNames(load(tmp_path), NoEngine())
    with ThreadPoolExecutor(2) as threads:
        try:
            late = threads.submit(names.tables, "lake")
            assert looking.wait(60)
            threads.submit(names.forget).result(60)
        finally:
            answer.set()
        assert late.result(60) == [("raw", "old")]
    monkeypatch.setattr(inspection, "read", lambda *_: {"tables": []})
    assert names.tables("lake") == []
