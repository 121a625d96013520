"""A soak: thousands of writes from several engines that are killed at random, while a reader looks on.

`make soak`, or `python -m tests.soak --format paimon --writes 200 --kills 4 --troubles failover`. Meanwhile the
metastore, a PostgreSQL server, is restarted, fails over to an older copy of itself, and is cut off for 45 s. Every
write is tried until it is acknowledged, or until nothing moves any more. At the end the table is recovered, every id
that was acknowledged must be there exactly once, and nothing may be left waiting. Exit code 1 if not.

`--mixed`: engines of both lines of Spark; every third write arrives as a file that a stream picks up, and counts as
acknowledged when the reader has seen it whole; and a continuous compaction follows the table, with its lease and
behind writers that wait; its engine is killed, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catchment.engine.protocol import Done, Failed
from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.store import open_store
from tests.concurrency.waiting import worker_of
from tests.metastore_troubles import TROUBLES, Metastore, planned
from tests.soak_company import Compaction, Stream
from tests.soak_tables import TABLES, Soaked
from tests.spark.lake import LiveEngine, Pending, by, engine_plan, files_depot, writing

ROWS = 5
"""Rows of one write, all of which must be seen or none."""
PATIENCE = 300.0
"""Without an acknowledgement for so many seconds, the writes that are left count as blocked."""
LOOK_SECONDS = 3.0
MUST_BE_EMPTY = ["lost", "doubled", "half", "failed", "broken", "wrong", "recovery", "waiting", "engines_lost_unasked"]
"""What a soak must not find; of everything else it only tells."""
COMPACT_EVERY = 250
"""Writes between two compactions, if none runs all the time."""
STREAMED = 3
"""Of so many writes, one is made by a stream, if there are streams."""
STREAMS = 2


def write(number: int, table: Soaked) -> JobPlan:
    """Most writes append to one partition; one in ten replaces a partition of its own."""
    own = number % 10 == 0
    sql = f"SELECT {number} AS write, id, {number if own else -1} AS lane FROM range(0, {ROWS}, 1, 1)"
    mode = "overwrite-partitions" if own else "append"
    return writing(sql, table.dataset, mode=mode, partitions=(by("identity", "lane"),))


@dataclass
class Tally:
    """What became of the writes; may be used from several threads."""

    left: deque[int]
    acknowledged: set[int] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)
    """Answers that were no acknowledgement, by code; each of them was followed by another attempt."""
    attempts: Counter[int] = field(default_factory=Counter)
    last: float = field(default_factory=time.monotonic)
    """When a write was last acknowledged."""
    kills: int = 0
    looks: int = 0
    compactions: int = 0
    wrong: list[str] = field(default_factory=list)
    """What the reader saw and should not have seen."""
    sent: set[int] = field(default_factory=set)
    """Writes that a stream has to make."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> int | None:
        with self.lock:
            if not self.left:
                return None
            number = self.left.popleft()
            self.attempts[number] += 1
            return number

    def settle(self, number: int, reply: object) -> None:
        with self.lock:
            if isinstance(reply, Done):
                self.acknowledged.add(number)
                self.last = time.monotonic()
                return
            self.failures[reply.code if isinstance(reply, EngineLost | Failed) else str(reply)] += 1
            self.left.append(number)

    def notice(self, found: Iterable[int]) -> None:
        """Writes of streams that a reader has seen are acknowledged."""
        with self.lock:
            new = self.sent.intersection(found) - self.acknowledged
            self.acknowledged |= new
            self.last = time.monotonic() if new else self.last

    def known(self) -> frozenset[int]:
        """The writes that are acknowledged by now."""
        with self.lock:
            return frozenset(self.acknowledged)

    @property
    def stands_still(self) -> bool:
        """Whether nothing was acknowledged for so long that nothing will be."""
        return time.monotonic() - self.last > PATIENCE


class Slot:
    """A place for one engine after the other: whenever one is killed, the next is started."""

    def __init__(self, root: Path, name: str, metastore: str, table: Soaked, spark: str) -> None:
        self.root, self.name, self.metastore, self.table, self.spark = root, name, metastore, table, spark
        self.started = 0
        self.losses: list[str] = []
        self.lock = threading.Lock()
        self.engine = self._start()

    def living(self) -> LiveEngine:
        """The engine of this slot, a new one if it was lost."""
        with self.lock:
            if self.engine.lost:
                self.losses.append(self.engine.lost.message.partition(";")[0])
                self.engine = self._start()
            return self.engine

    def kill(self) -> bool:
        """Kill the engine and its JVM, whatever they are doing; False where the last kill was not noticed yet."""
        with self.lock:  # never while it is being started: it has nothing to lose then
            if self.engine.lost:
                return False
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker_of(self.engine), signal.SIGKILL)
                return True
            return False

    def stop(self) -> None:
        self.engine.process.stop(grace=5)

    def _start(self) -> LiveEngine:
        self.started += 1
        depots = self.table.depot, files_depot(self.root)
        plan = engine_plan(*depots, key=self.name, metastore=self.metastore, spark=self.spark)
        live = LiveEngine(plan, self.root / f"logs-{self.name}-{self.started}")
        live.ready()
        return live


def write_all(slot: Slot, tally: Tally, count: int, streams: Sequence[Stream]) -> None:
    """One of many writers of an engine: tries one write after the other until all are acknowledged, or none is."""
    while len(tally.known()) < count and not tally.stands_still:
        number = tally.take()
        if number is None:
            time.sleep(0.2)  # others may fail, and their writes come back
            continue
        if streams and number % STREAMED == 0:
            streams[number // STREAMED % len(streams)].arrive(number)
            tally.sent.add(number)
            continue
        attempt = slot.living().start_job(
            write(number, slot.table), run=f"soak-{number}", number=tally.attempts[number]
        )
        tally.settle(number, answer(attempt))


def answer(attempt: Pending) -> object:
    """What came of an attempt; one that says nothing for long is left alone, and its write is tried again."""
    try:
        return attempt.answer(PATIENCE)
    except queue.Empty:
        return "no answer"


def kill_at_random(slots: Sequence[Slot | Compaction], tally: Tally, moments: list[int], chance: random.Random) -> None:
    """Kill an engine each time that so many writes are acknowledged."""
    for moment in moments:
        while len(tally.known()) < moment and not tally.stands_still:
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 0.5))
        while not chance.choice(slots).kill():
            time.sleep(0.05)
        tally.kills += 1


def make_trouble(plan: list[tuple[int, Callable[[], None]]], tally: Tally) -> None:
    """Let the metastore have its troubles, each when so many writes are acknowledged."""
    for moment, trouble in plan:
        while len(tally.known()) < moment and not tally.stands_still:
            time.sleep(0.05)
        trouble()


def look_on(reader: LiveEngine, table: Soaked, tally: Tally, over: threading.Event, compacts: bool) -> None:
    """Read the table again and again: whole writes only, and everything that was acknowledged before."""
    while not over.wait(LOOK_SECONDS):
        before = tally.known()
        try:
            found = seen(reader, table)
            tally.wrong.extend(problems(found, before))
            tally.notice(found)
            tally.looks += 1
            if compacts and len(before) >= COMPACT_EVERY * (tally.compactions + 1):
                tally.compactions += 1
                table.compact(reader)
        except AssertionError as refused:
            tally.wrong.append(f"the reader was refused: {refused}"[:500])


def seen(reader: LiveEngine, table: Soaked) -> dict[int, tuple[int, int]]:
    """Write -> its rows, and its different rows, as they are in the table now."""
    sql = f"SELECT write, count(*), count(DISTINCT id) FROM {table.dataset.identifier} GROUP BY write"
    return {number: (rows, different) for number, rows, different in reader.rows(sql)}


def problems(found: dict[int, tuple[int, int]], expected: frozenset[int]) -> list[str]:
    """What is wrong with a state of the table, given the writes that must be in it."""
    lost = [f"write {number} is lost" for number in sorted(expected - found.keys())]
    return lost + [f"write {n} has {counts} rows" for n, counts in sorted(found.items()) if counts != (ROWS, ROWS)]


def soak(root: Path, options: argparse.Namespace, metastore: Metastore) -> dict[str, Any]:
    chance, table = random.Random(options.seed), TABLES[options.format](root)
    tally = Tally(deque(range(1, options.writes + 1)))
    moments = sorted(chance.sample(range(1, options.writes), options.kills))
    names = ["reader", *map(str, range(options.engines))]
    lines = [table.lines[0], *(_line(table, number, options) for number in range(options.engines))]
    with ThreadPoolExecutor(len(names)) as pool:
        reader, *writers = pool.map(lambda name, line: Slot(root, name, metastore.url, table, line), names, lines)
    writers[0].engine.run(write(0, table), run="soak-0")
    streams = [Stream(root, number, table.dataset, ROWS) for number in range(STREAMS if options.mixed else 0)]
    compactions = [Compaction(root, table, metastore.url, table.lines[0])] if options.mixed else []
    slots: list[Slot | Compaction] = [*writers, *compactions]
    troubles = planned(metastore, options.troubles, options.writes)
    began, over = time.monotonic(), threading.Event()
    watchers = [
        threading.Thread(target=kill_at_random, args=(slots, tally, moments, chance), daemon=True),
        threading.Thread(target=make_trouble, args=(troubles, tally), daemon=True),
        threading.Thread(target=look_on, args=(reader.engine, table, tally, over, not options.mixed), daemon=True),
        threading.Thread(target=tell, args=(tally, options.writes, over), daemon=True),
        *(threading.Thread(target=each.run, args=(writers, chance, over), daemon=True) for each in streams),
        *(threading.Thread(target=each.run, args=(over,), daemon=True) for each in compactions),
    ]
    for watcher in watchers:
        watcher.start()
    with ThreadPoolExecutor(options.engines * options.writers) as pool:
        tries = [
            pool.submit(write_all, slot, tally, options.writes, streams)
            for slot in writers
            for _ in range(options.writers)
        ]
        for each in tries:
            each.result()
    elapsed = time.monotonic() - began
    over.set()
    for watcher in watchers:
        watcher.join()
    for stream in streams:
        reader.engine.run(stream.job("available-now"), run=f"{stream.name}-last", wait=True)
    [recovered] = reader.engine.recover(table.dataset)
    tally.compactions += sum(each.done for each in compactions)
    result = verdict(reader.engine, table, tally, options) | {
        "seconds": round(elapsed),
        "recovery": recovered["error"],
        "waiting": waiting(metastore.url),
        "metastore": metastore.happened,
        "engines_lost_unasked": [loss for slot in slots for loss in slot.losses if "SIGKILL" not in loss],
    }
    if options.mixed:
        result["lines_of_spark"] = [slot.spark for slot in writers]
        result["writes_of_streams"] = len(tally.sent)
        result["streams"] = {stream.name: {"begun": stream.begun, **stream.failures} for stream in streams}
        result["compactions_begun_anew_after"] = dict(compactions[0].failures)
    for slot in (reader, *slots):
        slot.stop()
    return result


def _line(table: Soaked, number: int, options: argparse.Namespace) -> str:
    """The line of Spark of a writing engine: both in turn, if they are mixed and the format is at home in both."""
    return table.lines[number % len(table.lines)] if options.mixed else table.lines[0]


def waiting(metastore: str) -> list[str]:
    """The writes that are still sealed or open after everything was recovered: somebody would wait for them."""
    with open_store(metastore) as store:
        return [f"{write.write_id} is {write.state}" for write in store.activity.writes()]


def verdict(reader: LiveEngine, table: Soaked, tally: Tally, options: argparse.Namespace) -> dict[str, Any]:
    """Count what there is against what was acknowledged."""
    found, every = seen(reader, table), tally.known() | {0}
    return {
        "format": options.format,
        "writes": options.writes,
        "engines": options.engines,
        "seed": options.seed,
        "kills": tally.kills,
        "acknowledged": len(tally.acknowledged),
        "lost": len(every - found.keys()),
        "doubled": sum(rows > different for rows, different in found.values()),
        "half": sum(different < ROWS for _, different in found.values()),
        "failed": options.writes - len(tally.acknowledged),
        "broken": broken(reader, table),
        "attempts_lost_with_their_engine": tally.failures.pop("engine-lost", 0),
        "attempts_failed_otherwise": dict(tally.failures),
        "commits": table.commits(reader),
        "compactions": tally.compactions,
        "looks": tally.looks,
        "mixed": options.mixed,
        "wrong": tally.wrong[:20],
    }


def broken(reader: LiveEngine, table: Soaked) -> str | None:
    """What must hold in every table and does not."""
    try:
        table.check(reader)
    except AssertionError as error:
        return f"{traceback.extract_tb(error.__traceback__)[-1].line}: {error}"[:500]
    return None


def tell(tally: Tally, writes: int, over: threading.Event) -> None:
    while not over.wait(10.0):
        failed = dict(tally.failures)
        print(
            f"{len(tally.known())} of {writes} acknowledged, {tally.kills} kills, {failed}", file=sys.stderr, flush=True
        )


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Thousands of writes from engines that are killed at random.")
    parser.add_argument("--format", choices=TABLES, default="iceberg", help="of the table")
    parser.add_argument("--mixed", action="store_true", help="both lines of Spark, streams, compaction all the time")
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--engines", type=int, default=3)
    parser.add_argument("--writers", type=int, default=16, help="writes at once in each engine")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--troubles", nargs="*", choices=TROUBLES, default=list(TROUBLES), help="of the metastore, in this order"
    )
    parser.add_argument("--cut-seconds", type=float, default=45.0, help="how long the metastore is cut off")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the kills")
    return parser.parse_args(arguments)


def main() -> None:
    """Soak, report, and tell with the exit code whether anything was lost or doubled."""
    chosen = options(sys.argv[1:])
    print(f"seed {chosen.seed}", file=sys.stderr, flush=True)
    root = Path(tempfile.mkdtemp(prefix="catchment-soak-"))
    metastore = Metastore(chosen.cut_seconds)
    try:
        result = soak(root, chosen, metastore)
    finally:
        metastore.stop()
    print(json.dumps(result, indent=2))
    if any(result[key] for key in MUST_BE_EMPTY):
        print(f"the lake and the logs are in {root}", file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
