"""Notices services whose supervisor was killed. Whoever is alive looks, and one of them tells the hooks."""

from __future__ import annotations

import time

from catchment.run.notify.message import about_service
from catchment.run.notify.sending import Notifier
from catchment.run.services.liveness import current
from catchment.store import Store

EVERY_SECONDS = 10.0


class DeadServices:
    """Looks for dead services now and then."""

    def __init__(self, store: Store, notifier: Notifier, every: float = EVERY_SECONDS) -> None:
        self._store, self._notifier, self._every = store, notifier, every
        self._next = 0.0

    def look(self) -> None:
        """Tell the hooks of every service that has died since somebody last looked."""
        hooks = self._notifier.on("service-dead")
        if not hooks or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every
        for record in self._store.services.unreported():
            now = current(self._store, record)
            if now.status == "dead" and self._store.services.report(now) and now.order.matters:
                where = f"its supervisor on {now.supervisor.host} was killed, or its machine is gone"
                root, environment = self._notifier.root, self._notifier.environment
                self._notifier.send(about_service(now.order.name, "dead", where, root, environment), hooks)
