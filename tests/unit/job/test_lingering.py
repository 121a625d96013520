"""Sealed outputs of one attempt wait until the run says that nobody else comes."""

from __future__ import annotations

from catchment.engine.protocol import Sealed
from catchment.job.lingering import Lingering
from tests.spark.lake import output, table

ORDERS = output("rows", table("orders"), name="orders", linger=600.0)
TRIPS = output("rows", table("trips"), name="trips", linger=600.0)


def test_the_run_hears_of_a_seal_and_ends_the_wait_of_that_output_alone() -> None:
    told: list[Sealed] = []
    lingering = Lingering("a.1", told.append)
    lingering.publish("orders")  # for an earlier wait: the next one must not end with it
    orders, trips = (lingering.of(each).announce() for each in (ORDERS, TRIPS))
    assert told == [Sealed("a.1", "orders"), Sealed("a.1", "trips")]
    lingering.publish("orders")
    assert (orders.is_set(), trips.is_set()) == (True, False)


def test_nothing_of_an_attempt_that_was_cancelled_waits() -> None:
    lingering = Lingering("a.1", lambda sealed: None)
    orders = lingering.of(ORDERS).announce()
    lingering.end()
    assert orders.is_set()
    assert lingering.of(TRIPS).announce().is_set()
