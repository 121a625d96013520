"""The lease of an incremental job: of two concurrent runs, one waits or fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from catchment.commit.leases import LEASE_SECONDS, held
from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import LeaseHeld
from catchment.job.story import Story
from catchment.store import Lease, Store
from catchment.store.states import lease_name

GRACE_SECONDS = LEASE_SECONDS + 2.0
"""How long every run waits: a little longer than the lease of a dead holder lasts."""
POLL_SECONDS = 0.25
STUCK_SECONDS = 60.0
"""How long a cancelled attempt may keep the lease: one that hangs must not keep the next run waiting."""


@contextmanager
def job_lease(writer: Writer, command: RunJob, story: Story) -> Iterator[Lease]:
    """Hold the job's lease; raises LeaseHeld if another run holds it and this one is not to wait."""
    name = lease_name(command.workflow, command.job.name)
    lease = _acquire(writer.store, name, f"run {command.run_id} on {writer.owner}", story, wait=command.request.wait)
    with held(writer.store, lease, STUCK_SECONDS, lambda: None if story.is_cancelled else time.monotonic()):
        yield lease


def _acquire(store: Store, name: str, owner: str, story: Story, *, wait: bool) -> Lease:
    until = time.monotonic() + GRACE_SECONDS
    warned = False
    while True:
        try:
            return store.leases.acquire(name, owner, LEASE_SECONDS)
        except LeaseHeld as error:
            if time.monotonic() > until and not wait:
                raise LeaseHeld(
                    f"another run of this job is under way: {error.message}",
                    hint="wait until it is done, or let this one wait with `catchment run --wait`",
                ) from error
            if not warned:
                story.warn(f"another run of this job is under way, this one waits: {error.message}")
                warned = True
        story.check()
        time.sleep(POLL_SECONDS)
