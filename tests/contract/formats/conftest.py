from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import Dataset
from tests.contract.formats.kinds import ALIKE, EVERY_POINT, QUICK, Kind
from tests.ledgers import Filled
from tests.spark.hosts import Host
from tests.spark.lake import LiveEngine


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs for every format, and with every point of its commit path if it asks for one."""
    if "kind" not in metafunc.fixturenames:
        return
    test = metafunc.function.__name__
    if "point" in metafunc.fixturenames:
        cases = [(kind, point) for kind in EVERY_POINT for point in (*kind.lost_at, *kind.kept_at)]
        cases += [(kind, kind.half_way) for kind in ALIKE]
        metafunc.parametrize(
            ("kind", "point"),
            [
                pytest.param(kind, point, id=f"{kind.name}-{point}", marks=_marks(kind, test, point))
                for kind, point in cases
            ],
        )
        return
    metafunc.parametrize(
        "kind", [pytest.param(kind, id=kind.name, marks=_marks(kind, test)) for kind in (*EVERY_POINT, *ALIKE)]
    )


def _marks(kind: Kind, test: str, point: str | None = None) -> list[pytest.MarkDecorator]:
    marks = []
    if kind not in QUICK or (point and point not in kind.quick):
        marks.append(pytest.mark.slow)
    if test in kind.gaps:
        marks.append(pytest.mark.xfail(strict=True, raises=AssertionError, reason=kind.gaps[test]))
    return marks


@pytest.fixture
def here(engine: Host) -> LiveEngine:
    """An engine for every test of the contract."""
    return engine


@pytest.fixture
def there(elsewhere: Host) -> LiveEngine:
    """Another one, on the same depots."""
    return elsewhere


@pytest.fixture
def target(kind: Kind, root: Path, fresh: str) -> Dataset:
    """A dataset that nobody has written."""
    return kind.dataset(root, fresh)


@pytest.fixture
def ledger(filled: Filled) -> Filled:
    return filled
