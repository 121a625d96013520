"""Who else is at the table of a mixed soak: streams that write what arrives, and a compaction that never ends."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from catchment.engine.launcher import EngineProcess
from catchment.engine.protocol import Failed
from catchment.errors import CatchmentError, EngineLost
from catchment.plan.model import Dataset, InputPlan, JobPlan
from catchment.project.model import Engine, Project, Thresholds, Upkeep
from catchment.run.compaction import compactor
from catchment.run.compaction.compaction_job import compact
from tests.soak_tables import Soaked
from tests.spark.lake import SMALL, LiveEngine, by, files, output, reading
from tests.spark.streaming import streaming

SCHEMA = "write INT, id BIGINT, lane INT"
LOOK_SECONDS = 0.5
PAUSE_SECONDS = 1.0
YIELD_SECONDS = 3.0
"""How long the compaction waits for writers that wait: here, some of them always do."""


class Slot(Protocol):
    """A place for one engine after the other."""

    def living(self) -> LiveEngine: ...


@dataclass
class Stream:
    """One stream into the table: a directory in which files arrive, and a checkpoint."""

    root: Path
    number: int
    target: Dataset
    rows: int
    begun: int = 0
    """How often an engine has taken it up."""
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"stream-{self.number}"

    @property
    def place(self) -> Path:
        place = self.root / "drop" / self.name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def arrive(self, write: int) -> None:
        """A file with the rows of one write arrives whole."""
        lines = [json.dumps({"write": write, "id": number, "lane": -1}) for number in range(self.rows)]
        unfinished = self.place / f".{write}"
        unfinished.write_text("\n".join(lines) + "\n")
        unfinished.rename(self.place / f"{write:06}.json")

    def job(self, trigger: str) -> JobPlan:
        """The job that writes what arrives."""
        source: InputPlan = replace(reading("source", files(self.place, "json")), schema=SCHEMA, stream=True)
        written = output("rows", self.target, mode="append", partitions=(by("identity", "lane"),))
        return streaming(self.root, self.name, source, written, sql="SELECT * FROM source", trigger=trigger)

    def run(self, slots: Sequence[Slot], chance: random.Random, over: threading.Event) -> None:
        """Run on one engine after the other, whichever is there when the one before is killed."""
        while not over.is_set():
            engine = chance.choice(slots).living()
            self.begun += 1
            attempt = engine.start_job(self.job("back-to-back"), run=f"{self.name}-{self.begun}", wait=True)
            reply: object = None
            while reply is None:
                try:
                    reply = attempt.answer(LOOK_SECONDS)
                except queue.Empty:
                    if over.is_set():
                        engine.cancel(attempt)
            if isinstance(reply, EngineLost | Failed):
                self.failures[reply.code] += 1


@dataclass
class Compaction:
    """A continuous compaction with engines of its own, as `catchment compact --mode continuous` runs it."""

    root: Path
    table: Soaked
    metastore: str
    spark: str
    done: int = 0
    losses: list[str] = field(default_factory=list)
    """What was told of engines that were lost."""
    failures: Counter[str] = field(default_factory=Counter)
    """What has ended the compaction, which then began anew."""
    _engine: EngineProcess | None = None

    def run(self, over: threading.Event) -> None:
        """Compact until the soak is over."""
        compactor.YIELD_SECONDS = YIELD_SECONDS
        eager = Upkeep(Thresholds(small_files=2, quiet=0.0))
        depots, engines = {self.table.depot.name: self.table.depot}, {"default": self._default}
        address = self.table.dataset.address
        project = Project(self.root, None, self.metastore, depots, engines, maintain={address: eager})
        while not over.is_set():
            try:
                compact(project, address, mode="continuous", stop=over, tell=self._hear, launch=self._launch)
            except CatchmentError as ended:
                self.failures[ended.code] += 1
                over.wait(PAUSE_SECONDS)

    def kill(self) -> bool:
        """Kill the engine and its JVM; False where there is none, or where the last kill was not noticed yet."""
        engine, self._engine = self._engine, None
        if engine is None or engine._process is None:
            return False
        with suppress(ProcessLookupError):
            os.killpg(engine._process.pid, signal.SIGKILL)
            return True
        return False

    def stop(self) -> None:
        """Nothing to stop: the compaction has ended its engines."""

    @property
    def _default(self) -> Engine:
        return Engine("default", spark=self.spark, master="local[2]", conf=SMALL)

    def _launch(self, *plan: Any, **where: Any) -> EngineProcess:
        self._engine = started = EngineProcess.start(*plan, **where)
        return started

    def _hear(self, text: str) -> None:
        self.done += " files became " in text
        if "engine is lost" in text:
            self.losses.append(text)
