"""The process of a supervisor: `python -m catchment.run.services.supervisor_process`.

Its instructions come through its standard input, where nobody else can read them; its answer goes to its standard
output. Then it leaves both, and lives until the service has ended.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from catchment import process_identity
from catchment.engine.pipes import LogFile
from catchment.errors import CatchmentError, LeaseHeld, RequestError
from catchment.project.secrets import Redactor
from catchment.run.identity import owner
from catchment.run.notify.sending import Notifier
from catchment.run.services import processes
from catchment.run.services.supervisor import Supervisor
from catchment.store import PATIENCE_SECONDS, Lease, Store, open_store
from catchment.store.holding import HeldLease
from catchment.store.services import ServiceOrder, service_lease

LEASE_SECONDS = 20.0
"""A service whose supervisor was not heard from for this long is dead."""
LOG_BYTES = 8 * 1024 * 1024
"""A log of this size becomes `service.log.1`, in place of the one before."""


@dataclass(frozen=True)
class Instructions:
    """What a supervisor is told when it starts."""

    order: ServiceOrder
    metastore: str
    secrets: tuple[str, ...]
    notifier: Notifier

    def encode(self) -> bytes:
        """The instructions as they are sent."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Instructions:
        """The instructions as they were sent."""
        told = json.loads(data)
        order = ServiceOrder(**{**told["order"], "command": tuple(told["order"]["command"])})
        return cls(order, told["metastore"], tuple(told["secrets"]), Notifier.decoded(told["notifier"]))


class NameInUse(RequestError):
    """A living service has the name."""

    code = "service-name-in-use"


def take_lease(store: Store, name: str) -> HeldLease:
    """Hold the lease of a service; raises NameInUse if a living supervisor holds it."""
    try:
        return _acquire(store, name)
    except LeaseHeld as error:
        if _release_of_the_dead(store, name):
            with suppress(LeaseHeld):  # somebody else was quicker
                return _acquire(store, name)
        hint = f"choose another --name, or stop it first: catchment services stop {name}"
        raise NameInUse(f"a service named {name} is running", hint=hint) from error


def _acquire(store: Store, name: str) -> HeldLease:
    return HeldLease.acquire(store.leases, service_lease(name), owner(), LEASE_SECONDS)


def _release_of_the_dead(store: Store, name: str) -> bool:
    """Give back a lease whose holder was killed on this machine; returns whether that was so."""
    found, holder = store.services.find(name), store.leases.holder(service_lease(name))
    if (
        not found
        or not holder
        or found.supervisor.owner != holder.owner
        or not process_identity.is_gone(found.supervisor)
    ):
        return False
    store.leases.release(Lease(service_lease(name), holder.owner, holder.fence))
    return True


def main() -> None:
    """Supervise the service that the instructions on standard input describe."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    told = Instructions.decode(sys.stdin.buffer.read())
    with ExitStack() as stack:
        try:
            supervisor = _begin(told, stack)
        except CatchmentError as error:
            _answer({"started": False, "code": error.code, "message": error.message, "hint": error.hint})
            return
        _answer({"started": True})
        supervisor.run()


def _begin(told: Instructions, stack: ExitStack) -> Supervisor:
    """Take the service's lease and record that it has begun."""
    store = stack.enter_context(open_store(told.metastore, patience=PATIENCE_SECONDS))
    heartbeat = stack.enter_context(take_lease(store, told.order.name))
    log = LogFile(Path(told.order.log), LOG_BYTES)
    # What the metastore's own warnings say in a long outage must not fill the disk either.
    logging.getLogger("catchment.store").addHandler(logging.StreamHandler(log))
    supervisor = Supervisor(told.order, store, heartbeat, log, Redactor(told.secrets), notifier=told.notifier)
    signal.signal(signal.SIGTERM, lambda *_: supervisor.stop())
    signal.signal(signal.SIGINT, lambda *_: supervisor.insist())
    store.services.begin(heartbeat.lease, told.order, processes.this_process(heartbeat.lease.owner))
    return supervisor


def _answer(data: dict[str, Any]) -> None:
    """Answer whoever started this process, once, and leave its pipes."""
    with suppress(OSError):
        os.write(1, json.dumps(data).encode() + b"\n")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nowhere, number)
    os.close(nowhere)


if __name__ == "__main__":
    main()
