"""An engine's sign of life in the metastore: while its lease is held, its open writes are its own."""

from __future__ import annotations

import os
import socket
import threading
import uuid

from catchment.errors import LeaseLost, MetastoreUnavailable
from catchment.store import Store

LEASE_SECONDS = 30.0


def announce(store: Store) -> str:
    """Say that this engine is alive, for as long as its process is; returns the lease that says so."""
    owner = f"engine/{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    lease = store.leases.acquire(owner, owner, LEASE_SECONDS)

    def beat() -> None:
        pause = threading.Event()
        while not pause.wait(LEASE_SECONDS / 6):
            try:
                store.leases.renew(lease, LEASE_SECONDS)
            except LeaseLost:
                return
            except MetastoreUnavailable:
                continue

    threading.Thread(target=beat, name="presence", daemon=True).start()
    return owner
