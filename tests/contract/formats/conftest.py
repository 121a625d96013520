from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from catchment.plan.model import Dataset
from catchment.project.model import Depot
from tests.contract.formats.kinds import ALIKE, EVERY_POINT, ICEBERG, OF_EACH_FILE, PARQUET, QUICK, Kind
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine

OFTEN = ("test_an_append_adds", "test_a_dynamic_overwrite_touches_only_what_it_produced")
"""What is tried more often than the rest of formats that are like another."""
OFTEN_AT = ("data-written", "sealed", "manifest-list-written", "before-swap", "planned", "old-removed", "before-marked")
"""Points of the commit path that are tried more often than those between them."""


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
    kinds = (*EVERY_POINT, *(ALIKE if test in OF_EACH_FILE else ()))
    metafunc.parametrize("kind", [pytest.param(kind, id=kind.name, marks=_marks(kind, test)) for kind in kinds])


def _marks(kind: Kind, test: str, point: str | None = None) -> list[pytest.MarkDecorator]:
    marks = []
    if kind not in QUICK or (point and point not in kind.quick):
        marks.append(pytest.mark.slow)
        if (kind in ALIKE and test not in OFTEN) or (point and not _is_often(kind, point)):
            marks.append(pytest.mark.exhaustive)
    if test in kind.gaps:
        marks.append(pytest.mark.xfail(strict=True, raises=AssertionError, reason=kind.gaps[test]))
    return marks


def _is_often(kind: Kind, point: str) -> bool:
    return point in (OFTEN_AT if kind in (ICEBERG, PARQUET) else (kind.half_way,))


@pytest.fixture
def here(request: pytest.FixtureRequest) -> LiveEngine:
    """An engine for every test of the contract."""
    return _engine(request, "engine", "older")


@pytest.fixture
def there(request: pytest.FixtureRequest) -> LiveEngine:
    """Another one, on the same depots."""
    return _engine(request, "elsewhere", "older_guest")


@pytest.fixture
def older_guest(start_older: Callable[..., LiveEngine]) -> LiveEngine:
    return start_older(key="there")


@pytest.fixture
def start(request: pytest.FixtureRequest, depots: tuple[Depot, ...]) -> Callable[..., LiveEngine]:
    """Start engines on the depots of `here`; they end with the test."""
    if _is_older(request):
        return cast("Callable[..., LiveEngine]", request.getfixturevalue("start_older"))
    return partial(request.getfixturevalue("start_engine"), *depots)


def _engine(request: pytest.FixtureRequest, newer: str, older: str) -> LiveEngine:
    return cast("LiveEngine", request.getfixturevalue(older if _is_older(request) else newer))


def _is_older(request: pytest.FixtureRequest) -> bool:
    kind = request.getfixturevalue("kind" if "kind" in request.fixturenames else "format")
    return bool(kind.spark != ICEBERG.spark)


@pytest.fixture
def target(kind: Kind, root: Path, fresh: str) -> Dataset:
    """A dataset that nobody has written."""
    return kind.dataset(root, fresh)


@pytest.fixture
def ledger(filled: Filled) -> Filled:
    return filled
