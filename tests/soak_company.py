"""Who else is at the table of a mixed soak: streams that write what arrives, and a compaction that never ends."""

from __future__ import annotations

import json
import queue
import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from catchment.engine.protocol import Facts, Failed
from catchment.errors import EngineLost
from catchment.plan.model import Dataset, InputPlan, JobPlan, Rewrite
from tests.spark.lake import LiveEngine, by, files, output, reading
from tests.spark.streaming import streaming

SCHEMA = "write INT, id BIGINT, lane INT"
LOOK_SECONDS = 0.5
PAUSE_SECONDS = 1.0


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
    """A compaction that begins anew as soon as it has ended."""

    target: Dataset
    done: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def run(self, slot: Slot, over: threading.Event) -> None:
        """Compact until the soak is over; what is killed or overtaken is done by the next one."""
        while not over.wait(PAUSE_SECONDS):
            reply = slot.living().start_maintenance(self.target, Rewrite(properties=self._eager)).answer()
            if isinstance(reply, Facts):
                self.done += bool(reply.data["rewritten_files"])
            elif isinstance(reply, EngineLost | Failed):
                self.failures[reply.code] += 1

    @property
    def _eager(self) -> dict[str, str]:
        return {"min-input-files": "2"} if self.target.format == "iceberg" else {}
