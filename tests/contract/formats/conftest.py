from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.store import open_store
from tests.contract.formats.kinds import ALIKE, EVERY_POINT, QUICK, Kind
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, delta_depot, engine_plan, files_depot, lake_depot


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


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.fixture(scope="session")
def depots(place: Path) -> tuple[Depot, ...]:
    """A depot of every kind."""
    return lake_depot(place), files_depot(place), delta_depot(place)


@pytest.fixture(scope="session")
def here(place: Path, depots: tuple[Depot, ...]) -> Iterator[LiveEngine]:
    """An engine for every test of the contract."""
    yield from _started(place, depots, "here")


@pytest.fixture(scope="session")
def there(place: Path, depots: tuple[Depot, ...], here: LiveEngine) -> Iterator[LiveEngine]:
    """Another one, on the same depots."""
    yield from _started(place, depots, "there")


@pytest.fixture
def target(kind: Kind, place: Path, fresh: str) -> Dataset:
    """A dataset that nobody has written."""
    return kind.dataset(place, fresh)


@pytest.fixture
def ledger(place: Path) -> Iterator[Filled]:
    with open_store(f"sqlite:///{place}/metastore.db") as store:
        yield Filled(store)


def _started(place: Path, depots: tuple[Depot, ...], key: str) -> Iterator[LiveEngine]:
    live = LiveEngine(engine_plan(*depots, key=key), place / f"logs-{key}")
    live.ready()
    yield live
    live.process.stop(grace=5)
