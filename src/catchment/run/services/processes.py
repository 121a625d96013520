"""The processes of supervisors, and on which machine they are."""

from __future__ import annotations

import socket

from catchment.process_identity import identity
from catchment.store.services import SupervisorProcess


def this_process(owner: str) -> SupervisorProcess:
    """This process as the supervisor of a service."""
    me = identity()
    return SupervisorProcess(me.machine, me.pid, me.born, owner, socket.gethostname())


def is_elsewhere(process: SupervisorProcess) -> bool:
    """Whether the process was started on a machine of another name."""
    return process.host != socket.gethostname()
