"""Services in the metastore: recorded by whoever holds their lease, dead when nobody does."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from catchment.errors import LeaseLost
from catchment.store import Lease, Store, schema
from catchment.store.database import database_time
from catchment.store.services import ServiceOrder, ServiceRecord, SupervisorProcess, service_lease

DAYS = 30
OLD_SECONDS = (DAYS + 1) * 86400.0
ORDER = ServiceOrder("nightly", "schedule", ("schedule", "größe.yaml"), "/somewhere", "/somewhere/service.log")


def supervisor(owner: str) -> SupervisorProcess:
    return SupervisorProcess("boot", 4711, 2**40, owner, "host")


def begin(store: Store, owner: str = "me", name: str = "nightly") -> Lease:
    lease = store.leases.acquire(service_lease(name), owner, 600.0)
    order = ServiceOrder(name, ORDER.kind, ORDER.command, ORDER.directory, ORDER.log, "on-failure")
    store.services.begin(lease, order, supervisor(owner))
    return lease


def found(store: Store, name: str = "nightly") -> ServiceRecord:
    record = store.services.find(name)
    assert record
    return record


def run_out(store: Store, seconds: float = 1.0) -> None:
    """As if nobody had renewed a lease since."""
    with store.database.writing() as connection:
        connection.execute(update(schema.leases).values(expires=database_time() - seconds))


def test_a_service_is_known_from_its_start_to_its_end(store: Store) -> None:
    lease = begin(store)
    record = found(store)
    assert (record.order.command, record.order.restart, record.supervisor) == (
        *(ORDER.command, "on-failure"),
        supervisor("me"),
    )
    assert (record.status, record.is_active, record.restarts, record.exit_code) == ("running", True, 0, None)
    assert record.finished is None
    store.services.failed(lease, "nightly", 137, "killed")
    record = found(store)
    assert (record.status, record.is_active, record.exit_code, record.error) == ("restarting", True, 137, "killed")
    store.services.restarted(lease, "nightly")
    assert (found(store).status, found(store).restarts) == ("running", 1)
    assert store.services.finish(lease, "nightly", "succeeded", 0, None)
    assert store.leases.holder(lease.name) is None  # the name is free again
    assert store.services.finish(lease, "nightly", "succeeded", 0, None)  # the answer to the first was lost
    record = found(store)
    assert (record.status, record.is_active, record.exit_code, record.error) == ("succeeded", False, 0, None)
    assert record.finished is not None
    assert record.finished >= record.started


def test_a_service_whose_supervisor_is_not_heard_from_is_dead(store: Store) -> None:
    begin(store)
    run_out(store, 5.0)
    record = found(store)
    assert (record.status, record.is_active) == ("dead", False)
    assert record.finished is not None


def test_a_service_is_dead_while_another_supervisor_has_its_lease_and_not_yet_its_row(store: Store) -> None:
    begin(store, "first")
    run_out(store)
    lease = store.leases.acquire(service_lease("nightly"), "second", 600.0)
    assert found(store).status == "dead"
    store.services.begin(lease, ORDER, supervisor("second"))
    record = found(store)
    assert (record.status, record.supervisor.owner, record.order.restart) == ("running", "second", "never")


def test_whoever_lost_the_lease_records_nothing(store: Store) -> None:
    first = begin(store, "first")
    run_out(store)
    begin(store, "second")
    with pytest.raises(LeaseLost):
        store.services.begin(first, ORDER, supervisor("first"))
    with pytest.raises(LeaseLost):
        store.services.failed(first, "nightly", 1, None)
    with pytest.raises(LeaseLost):
        store.services.restarted(first, "nightly")
    assert not store.services.finish(first, "nightly", "failed", 1, None)
    assert (found(store).status, found(store).supervisor.owner) == ("running", "second")


def test_anybody_can_ask_a_service_to_stop_and_its_next_start_forgets_it(store: Store) -> None:
    lease = begin(store)
    assert not store.services.is_stop_requested("nightly")
    store.services.request_stop(found(store))
    assert store.services.is_stop_requested("nightly")
    assert found(store).status == "stopping"
    asked = found(store)
    store.services.finish(lease, "nightly", "stopped", 130, None)
    assert found(store).status == "stopped"
    begin(store, "next")
    store.services.request_stop(asked)  # too late: it was meant for the one before
    assert not store.services.is_stop_requested("nightly")


def test_services_are_listed_newest_first(store: Store) -> None:
    for name in ("a", "b", "c"):
        begin(store, name, name)
        with store.database.writing() as connection:
            connection.execute(update(schema.services).where(schema.services.c.name != name).values(started=ord(name)))
    assert [each.order.name for each in store.services.all()] == ["c", "a", "b"]
    assert store.services.find("d") is None


def test_services_that_ended_long_ago_are_removed_with_their_leases(store: Store) -> None:
    for name, ended in {"old": "stopped", "new": "failed"}.items():
        lease = begin(store, name, name)
        store.services.finish(lease, name, ended, 0, None)  # type: ignore[arg-type]
    begin(store, "died", "died")
    with store.database.writing() as connection:
        old = database_time() - OLD_SECONDS
        of_old = schema.services.c.name == "old"
        connection.execute(update(schema.services).where(of_old).values(finished=old))
        connection.execute(update(schema.services).values(started=old))
        held = schema.leases.c.owner.is_not(None)
        connection.execute(update(schema.leases).where(held).values(expires=old))
    begin(store, "living", "living")
    with store.database.writing() as connection:
        connection.execute(update(schema.services).values(started=1.0))
    assert store.pruning.prune(DAYS) == 4  # two services and their leases
    assert sorted(each.order.name for each in store.services.all()) == ["living", "new"]
    assert store.leases.acquire(service_lease("old"), "me", 1.0).fence == 1
    assert store.leases.acquire(service_lease("new"), "me", 1.0).fence == 2
    assert store.pruning.prune(DAYS) == 0
