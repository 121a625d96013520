"""Writers beside a compaction: three engines write small appends to one table, and somebody merges the files, or not.

    .venv/bin/python bench/compaction.py --quick                    about ten minutes, one short round
    .venv/bin/python bench/compaction.py --save compaction.json

Ways:
- `none` never compacts.
- `inline` stands for writers that compact. Catchment's writers never do, whatever a format offers for that. So each
  writer asks its own engine, after every tenth of its writes, for the compaction of the whole table that `catchment
  compact` would do, without thresholds, and the seconds of that count as part of the write.
- `dedicated` is the continuous compaction job with its default thresholds, on an engine of its own with one core and
  a low priority. As in `catchment compact --mode continuous`, it holds the lease of the table's compactor, looks every
  ten seconds, without the engine where it can, and lets writers that wait go first.

Once the writers write as fast as they can (`flat out`, for a minute: on two cores the compaction has to take from them
what it needs), and once each begins a write at an interval (`paced`, for three minutes: cores are to spare). The ways
run in the same warm engines, interleaved, each round on a table of its own. Reported are medians of the rounds with
their range: writes per second of all writers, median and p99 of a write, writes that had to try again because others
had changed the table (`conflicts`) or failed, files at the end, and the time of a fixed query as the table is then,
against the time once it is fully compacted.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.spark.lake import (
    LiveEngine,
    by,
    delta_depot,
    delta_table,
    engine_plan,
    lake_depot,
    paimon_depot,
    paimon_table,
    table,
    writing,
)

from catchment.engine.launcher import BackgroundProcess, EngineProcess
from catchment.engine.protocol import AskHealth, Done, Facts, Failed, Reply
from catchment.errors import EngineLost, JobError, Retryable
from catchment.plan.model import Dataset, Maintenance, Partition, Rewrite
from catchment.project.model import Depot, Engine, Project, Upkeep
from catchment.run.compaction.compaction_job import compactor_lease, writers_waiting
from catchment.run.compaction.compactor import TableCompactor
from catchment.run.compaction.lake_engines import EnduringLake
from catchment.store import open_store
from catchment.table_health import TableHealth

FORMATS = ("iceberg", "delta", "paimon")
WAYS = ("none", "inline", "dedicated")
PACES = ("flat out", "paced")
WRITERS = 3
INLINE_EVERY = 10
PACED_SECONDS = 2.0
"""Between the beginnings of two writes of one writer."""
QUERIES = 5
PARTS = 4
WARM_UP = 3
"""Writes of each writer before anything is measured."""
SECONDS = {"flat out": 60.0, "paced": 180.0}
"""How long the writers of a round write."""
QUICK = 0.2


@dataclass(frozen=True)
class Outcome:
    """What one way came to in one round."""

    format: str
    pace: str
    way: str
    seconds: list[float]
    """Of each write."""
    failures: list[str]
    """The codes of writes that failed."""
    conflicts: list[str]
    """What writes have warned of: others have changed the table, so that they tried again."""
    per_second: float
    compacted: int
    """Files that the dedicated job merged."""
    partitions: int
    """How often it compacted a partition."""
    files: int
    read_seconds: float
    best_seconds: float
    """The same query on the fully compacted table."""


class Keeper(LiveEngine):
    """The engine of the compaction job, with its priority."""

    def _started(self, secrets: tuple[str, ...]) -> EngineProcess:
        return BackgroundProcess.start(self.plan, log_dir=self.log_dir, secrets=secrets, inbox=self._inbox)

    def ask_health(self, table: Dataset, small_file_bytes: int | None, known: str | None) -> Reply | EngineLost:
        """How the table is, asked once: the answers of `health` are compared with those without an engine."""
        return self._send(lambda id: AskHealth(id, table, small_file_bytes, known)).answer()


@dataclass(frozen=True)
class KeeperSession:
    """An engine that is there already, as the compaction job knows it."""

    engine: Keeper

    def __enter__(self) -> KeeperSession:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave it to the next round."""

    def cancel(self) -> None:
        """Let it finish."""

    def health(
        self, table: Dataset, small_file_bytes: int | None, known: str | None, wanted: Sequence[Partition] = ()
    ) -> TableHealth | None:
        """How the table is; None if its newest commit is the known one. All partitions are listed: they are few."""
        data = facts_of(self.engine.ask_health(table, small_file_bytes, known))
        return TypeAdapter(TableHealth).validate_python(data) if data else None

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Run one action; the job tries again what others have overtaken."""
        return facts_of(self.engine.start_maintenance(table, operation, dry_run=dry_run).answer())


def facts_of(reply: Reply | EngineLost) -> Mapping[str, Any]:
    """What an engine answered; raises if it could not."""
    if isinstance(reply, Failed) and reply.retryable:
        raise Retryable(reply.message, code=reply.code)
    if isinstance(reply, Failed):
        raise JobError(reply.message, code=reply.code)
    assert isinstance(reply, Facts), reply
    return reply.data


def follow(lake: EnduringLake, compactor: TableCompactor, metastore: str) -> None:
    """Compact a table until somebody stops it, with the rights and the manners of the real job."""
    table, stop = compactor.table, compactor.stop
    held = partial(compactor_lease, table=table, stop=stop, tell=compactor.tell, wait=True)
    with lake, open_store(metastore) as store, held(store) as lease:
        compactor.writers_wait, compactor.check = writers_waiting(store, table), lease.check
        compactor.continuous()


def place(format: str, root: Path, name: str) -> tuple[Depot, Dataset, str]:
    """The depot and the table of one way, and the line of Spark that writes it."""
    if format == "paimon":
        return paimon_depot(root), paimon_table(name), "3.5"
    if format == "delta":
        return delta_depot(root), delta_table(name, root), "4.1"
    return lake_depot(root), table(name), "4.1"


@dataclass
class Writer:
    """One engine that appends a few rows again and again."""

    engine: LiveEngine
    target: Dataset
    number: int
    way: str
    interval: float

    def write_until(self, end: float) -> tuple[list[float], list[str], list[str]]:
        """The seconds of each write, the codes of those that failed, and what they have warned of."""
        seconds, failures, conflicts, due = list[float](), list[str](), list[str](), time.monotonic()
        while time.monotonic() < end:
            began = time.monotonic()
            failed, warned = self.write()
            failures, conflicts = failures + failed, conflicts + warned
            if self.way == "inline" and len(seconds) % INLINE_EVERY == INLINE_EVERY - 1:
                self.engine.start_maintenance(self.target, Rewrite()).answer()
            seconds.append(time.monotonic() - began)
            due += self.interval
            time.sleep(max(0.0, due - time.monotonic()))
        return seconds, failures, conflicts

    def write(self) -> tuple[list[str], list[str]]:
        """Append once; the code if that has failed, and warnings."""
        sql = f"SELECT id, {self.number} AS writer, CAST(id % {PARTS} AS INT) AS part FROM range(200)"
        partitions = (by("identity", "part"),)
        work = writing(sql, self.target, name=f"w{self.number}", mode="append", partitions=partitions)
        sent = self.engine.start_job(work)
        reply = sent.answer()
        warned = [note.data["message"] for note in sent.notes if note.event == "warning"]
        return [] if isinstance(reply, Done) else [reply.code if isinstance(reply, Failed) else "engine-lost"], warned


def measure(
    case: tuple[str, str, str], engines: Sequence[LiveEngine], keeper: Keeper, root: Path, name: str, seconds: float
) -> Outcome:
    """Let the writers write, with or without somebody who compacts."""
    format, pace, way = case
    depot, target, line = place(format, root, name)
    interval = PACED_SECONDS if pace == "paced" else 0.0
    writers = [Writer(engine, target, number, way, interval) for number, engine in enumerate(engines)]
    for writer in writers:
        for _ in range(WARM_UP):
            assert writer.write() == ([], [])
    metastore, stop = keeper.plan.metastore, threading.Event()
    project = Project(root, None, metastore, {depot.name: depot}, {"default": Engine("default", spark=line)})
    session: Any = KeeperSession(keeper)
    lake = EnduringLake(lambda: session, lambda _: None, stop, project)
    compactor = TableCompactor(lake, target, Upkeep(), "bench", stop=stop)
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        following = threads.submit(follow, lake, compactor, metastore) if way == "dedicated" else None
        began = time.monotonic()
        try:
            done = list(threads.map(lambda writer: writer.write_until(began + seconds), writers))
            took = time.monotonic() - began
        finally:
            stop.set()
        if following:
            following.result()  # raises what the compaction has failed with
    every = [one for times, _, _ in done for one in times]
    failures = [code for _, codes, _ in done for code in codes]
    conflicts = [text for _, _, texts in done for text in texts]
    health, read = session.health(target, None, None), read_time(keeper, target)
    assert health is not None
    keeper.maintain(target, Rewrite())
    counted = keeper.value(f"SELECT count(*) FROM {target.identifier}")
    assert counted == 200 * (len(every) - len(failures) + WRITERS * WARM_UP), "rows are lost or doubled"
    figures = len(every) / took, compactor.done.rewritten_files, compactor.done.compactions, health.files, read
    return Outcome(format, pace, way, every, failures, conflicts, *figures, read_time(keeper, target))


def read_time(engine: LiveEngine, target: Dataset) -> float:
    """The median seconds of a query that reads the whole table."""
    times = []
    for _ in range(QUERIES):
        began = time.monotonic()
        engine.rows(f"SELECT part, count(*), sum(id) FROM {target.identifier} GROUP BY part ORDER BY part")
        times.append(time.monotonic() - began)
    return statistics.median(times)


def run(format: str, asked: argparse.Namespace, rounds: int) -> Iterator[Outcome]:
    """All rounds of all ways on one format, with the same engines."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as ending:
        root = Path(directory)
        depot, _, line = place(format, root, "t")
        memory = {"spark.driver.memory": "1200m"}
        plans = [engine_plan(depot, key=f"e{number}", spark=line, conf=memory) for number in range(WRITERS)]
        engines = [LiveEngine(plan, root / f"logs-{plan.key}") for plan in plans]
        of_keeper = engine_plan(depot, key="keeper", spark=line, master="local[1]", conf=memory)
        keeper = Keeper(of_keeper, root / "logs-keeper")
        for engine in (*engines, keeper):
            ending.callback(engine.process.stop, 10)
        for engine in (*engines, keeper):
            engine.ready()
        for way in ("none", "dedicated"):
            measure((format, "flat out", way), engines, keeper, root, f"warm_{way}", 5.0)
        for number in range(rounds):
            for pace in asked.paces:
                for way in (each for each in asked.ways if pace == "flat out" or each != "inline"):
                    name = f"t_{way}_{pace.partition(' ')[0]}_{number}"
                    seconds = asked.seconds or SECONDS[pace] * (QUICK if asked.quick else 1.0)
                    outcome = measure((format, pace, way), engines, keeper, root, name, seconds)
                    told = f"{format} {pace} {way}: {outcome.per_second:.2f}/s, p99 {p99(outcome.seconds):.2f} s"
                    told = f"{told}, {outcome.partitions} partitions compacted, {outcome.files} files"
                    told = f"{told} {sorted(set(outcome.conflicts)) or ''}"
                    print(told, file=sys.stderr, flush=True)
                    yield outcome


def p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


@dataclass(frozen=True)
class Figures:
    """All rounds of one way."""

    rounds: Sequence[Outcome]

    def of(self, figure: Callable[[Outcome], float]) -> float:
        """The median."""
        return statistics.median(map(figure, self.rounds))

    def told(self, figure: Callable[[Outcome], float], digits: int = 2) -> str:
        """The median with the range."""
        values = [figure(each) for each in self.rounds]
        return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"

    @property
    def p99(self) -> float:
        """Of the writes of all rounds together: a round alone has too few."""
        return p99([one for each in self.rounds for one in each.seconds])

    @property
    def failures(self) -> list[str]:
        return [code for each in self.rounds for code in each.failures]

    @property
    def conflicts(self) -> list[str]:
        return [text for each in self.rounds for text in each.conflicts]


def report(found: Sequence[Outcome]) -> None:
    """Print the figures as a table, and each goal as met or missed."""
    cases: dict[tuple[str, str, str], list[Outcome]] = {}
    for each in found:
        cases.setdefault((each.format, each.pace, each.way), []).append(each)
    figures = {case: Figures(rounds) for case, rounds in cases.items()}
    print("| format | writers | way | rate /s | p50 s | p99 s | conflicts | failed | files | query s | compacted s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for (format, pace, way), one in figures.items():
        p50 = one.told(lambda each: statistics.median(each.seconds))
        rate, files = one.told(lambda each: each.per_second), one.told(lambda each: each.files, 0)
        read, best = one.told(lambda each: each.read_seconds), one.told(lambda each: each.best_seconds)
        troubles = len(one.conflicts), len(one.failures)
        cells = (format, pace, way, rate, p50, f"{one.p99:.2f}", *troubles, files, read, best)
        print(f"| {' | '.join(map(str, cells))} |")
    print()
    for goal in goals(figures):
        print(goal)


def goals(figures: Mapping[tuple[str, str, str], Figures]) -> Iterator[str]:
    """What the dedicated job is to do to writers and readers, and what it does."""
    for format, pace, way in figures:
        alone, beside = figures.get((format, pace, "none")), figures[format, pace, way]
        if way != "dedicated" or alone is None:
            continue
        rate = beside.of(lambda each: each.per_second) / alone.of(lambda each: each.per_second)
        read = beside.of(lambda each: each.read_seconds / each.best_seconds)
        checks = (
            ("rate of writers beside the dedicated job", rate, 0.95, rate >= 0.95),
            ("p99 of writers beside the dedicated job", beside.p99 / alone.p99, 1.2, beside.p99 <= 1.2 * alone.p99),
            ("writes that failed", float(len(beside.failures)), 0.0, not beside.failures),
            ("writes that tried again", float(len(beside.conflicts)), 0.0, not beside.conflicts),
            ("query against the fully compacted table", read, 1.2, read <= 1.2),
        )
        for what, value, goal, met in checks:
            sign = ">=" if what.startswith("rate") else "<="
            yield f"- {format}, {pace}, {what}: {value:.2f}, goal {sign} {goal:g}: {'met' if met else 'MISSED'}"


def main() -> None:
    """Measure, print and save."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--quick", action="store_true", help="one short round")
    given.add_argument("--seconds", type=float, help="for which writers write")
    given.add_argument("--rounds", type=int)
    given.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    given.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    given.add_argument("--paces", nargs="+", choices=PACES, default=PACES)
    given.add_argument("--save", type=Path)
    asked = given.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # otherwise engines would be left
    rounds = asked.rounds or (1 if asked.quick else 3)
    found = [outcome for format in asked.formats for outcome in run(format, asked, rounds)]
    report(found)
    if asked.save:
        asked.save.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
