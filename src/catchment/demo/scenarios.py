"""The scenarios of the demonstration, and which states of its table a reader may see in each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catchment.demo.trips import Trips

State = frozenset[tuple[int, int, int]]
"""What a reader sees: (vendor, month, rows), one for each pair that has rows."""


@dataclass(frozen=True)
class Scenario:
    title: str
    workflow: str
    """File name of the workflow."""
    table: str
    meanwhile: frozenset[State]
    """What a reader may see during the first round."""
    final: frozenset[State]
    """What the table may hold after a round, and so what a reader may see during the next one."""
    rounds: int = 1

    @property
    def query(self) -> str:
        return f"SELECT vendor_id, month(date_col), count(*) FROM {self.table} GROUP BY ALL"  # noqa: S608 - our own


def scenarios(trips: Trips) -> tuple[Scenario, ...]:
    """The three scenarios for these trips."""
    one, two = _of_vendor(trips, 1), _of_vendor(trips, 2)
    both = one | two
    one_last, two_last = one | _only_in_months_without(two, one), two | _only_in_months_without(one, two)
    starting = {State(), one, two}
    return (
        Scenario(
            "append: both writers' rows are kept",
            "append.yaml",
            "lakehouse.raw01.trips",
            frozenset(starting | {both}),
            frozenset({both}),
        ),
        Scenario(
            "dynamic overwrite by vendor: each replaces its own partition, twice",
            "overwrite-by-vendor.yaml",
            "lakehouse.raw01.trips_by_vendor",
            frozenset(starting | {both}),
            frozenset({both}),
            rounds=2,
        ),
        Scenario(
            "dynamic overwrite by month: the last to commit holds the shared months, twice",
            "overwrite-by-month.yaml",
            "lakehouse.raw01.trips_by_month",
            frozenset(starting | {one_last, two_last}),
            frozenset({one_last, two_last}),
            rounds=2,
        ),
    )


def state(rows: Iterable[Iterable[object]]) -> State:
    """A query's rows as a state."""
    return frozenset((int(str(v)), int(str(m)), int(str(n))) for v, m, n in rows)


def _of_vendor(trips: Trips, vendor: int) -> State:
    return frozenset((v, month, rows) for (v, month), rows in trips.by_vendor_month.items() if v == vendor)


def _only_in_months_without(part: State, other: State) -> State:
    taken = {month for _, month, _ in other}
    return frozenset(row for row in part if row[1] not in taken)
