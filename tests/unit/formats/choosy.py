"""Two formats of which no line of Spark has both: for tests of the choice of engines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment.formats import registry
from catchment.formats.traits import Package
from catchment.project.model import Depot
from tests.contract.formats.toy.traits import TRAITS

OLD, NEW = Depot("old", "old-toy", "/old"), Depot("new", "new-toy", "/new")


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the formats known: `old-toy` for Spark 3.5 only, `new-toy` for Spark 4.1 only."""
    for name, line in {"old-toy": "3.5", "new-toy": "4.1"}.items():
        packages = {line: (Package(f"org.example:{name}:1.0"),)}
        traits = replace(TRAITS, name=name, formats=(name,), packages=packages, questions=frozenset({"snapshots"}))
        monkeypatch.setitem(registry._traits, name, traits)
        monkeypatch.setitem(registry._folders, name, "tests.contract.formats.toy")
