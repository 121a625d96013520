"""Engines that share a Java: a host lends its own to guests, which are engines in everything but that.

A guest has a process, an owner, leases and signs of life of its own, and takes a second to start. See
`processes/guest.py` for what a kill of it leaves behind.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from catchment.engine.environment import Installed
from catchment.engine.launcher import EngineProcess
from catchment.plan.model import EnginePlan
from tests.spark.lake import LiveEngine
from tests.spark.processes.attached import way_to

PROCESSES = Path(__file__).parent / "processes"
GATEWAY_FILE = "CATCHMENT_TEST_GATEWAY_FILE"
"""Where in its environment a host finds the file to write."""


class HostProcess(EngineProcess):
    """An engine that tells where the gateway to its Java is."""

    def _spawn(self, installed: Installed, scratch: str) -> subprocess.Popen[bytes]:
        self._command = (sys.executable, str(PROCESSES / "host.py"))
        return super()._spawn(installed, scratch)


class Host(LiveEngine):
    """An engine whose Java others may use."""

    def __init__(self, plan: EnginePlan, log_dir: Path, secrets: tuple[str, ...] = ()) -> None:
        self.gateway_file = log_dir / "gateway.json"
        log_dir.mkdir(parents=True, exist_ok=True)
        super().__init__(replace(plan, envs={**plan.envs, GATEWAY_FILE: str(self.gateway_file)}), log_dir, secrets)

    def _started(self, secrets: tuple[str, ...]) -> EngineProcess:
        return HostProcess.start(self.plan, log_dir=self.log_dir, secrets=secrets, inbox=self._inbox)

    def guest(self, plan: EnginePlan, log_dir: Path, secrets: tuple[str, ...] = ()) -> Guest:
        """An engine in the Java of this one."""
        self._check(plan)
        return Guest(replace(plan, envs={**plan.envs, **way_to(self.gateway_file)}), log_dir, secrets)

    def _check(self, plan: EnginePlan) -> None:
        """What Java is started with cannot be had from a Java that runs; then an engine needs one of its own."""
        same = plan.engine.spark == self.plan.engine.spark and plan.engine.master.startswith("local")
        own = {key: value for depot in (*plan.depots, *self.plan.depots) for key, value in depot.conf.items()}
        theirs = {key: value for depot in self.plan.depots for key, value in depot.conf.items()}
        fixed = {key for key in plan.conf if not key.startswith("spark.sql.") and key not in self.plan.conf}
        assert same, "a guest has the Spark of its host"
        assert own == theirs, "a guest has the stores of its host"
        assert not fixed, f"a host was started without {fixed}"
        assert not plan.engine.packages, "a guest has the jars of its host"


class Guest(LiveEngine):
    """An engine in the Java of a host."""

    def _started(self, secrets: tuple[str, ...]) -> EngineProcess:
        command = (sys.executable, str(PROCESSES / "guest.py"))
        return EngineProcess.start(self.plan, log_dir=self.log_dir, secrets=secrets, inbox=self._inbox, command=command)
