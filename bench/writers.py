"""Many writers, one table: small appends through Catchment's buffers, and through plain Iceberg, Delta and Paimon.

    .venv/bin/python bench/writers.py --quick          about ten minutes
    .venv/bin/python bench/writers.py                  as long as it takes
    .venv/bin/python bench/writers.py --save docs/benchmarks/writers.json
    .venv/bin/python bench/writers.py --beside PATH    another checkout in the same run, as the ways `beside…`
    .venv/bin/python bench/writers_plot.py docs/benchmarks/writers.json docs/benchmarks/writers.svg

Ways: `plain` is Iceberg with its default retries, `tuned` is Iceberg with 100 retries and waits of at most 2 s,
`catchment` is the buffered commit. `delta-plain` is Delta's own append with its own retries, which loses commits where
the store takes two of one version; `delta` is Catchment's buffered append. `paimon-plain` is Paimon's own append with
a filesystem catalog, `paimon-locked` with the lock of a catalog on SQLite, `paimon` is Catchment's buffered append.
Paimon tries a commit again for as long as it takes, so there are no retries to tune. All ways run in the same warm
engines, interleaved, on tables of their own, with the catalog on SQLite; Paimon has engines of its own, with Spark 3.5,
and another checkout has engines and a lake of its own. Once the table is on the local disk, once on an S3 server with
40 ms per request.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import s3

from catchment.engine.environment import Installed

HERE = Path(__file__).parent
PAIMON_WAYS = ("paimon-plain", "paimon-locked", "paimon")
WAYS = ("plain", "tuned", "catchment", "delta-plain", "delta", *PAIMON_WAYS)
LOSSY = ("delta-plain", "paimon-plain")
"""The ways whose acknowledged writes may be missing."""
SLOW = ("delta-plain",)
"""The ways that take minutes and are measured once, in the first repetition."""
OURS = ("catchment", "delta", "paimon")
BESIDE = {"beside": "catchment", "beside-delta": "delta", "beside-paimon": "paimon"}
"""Ways of another checkout."""
LATENCY_MS = 40
FASTER = 2
"""How much faster than the version beside it 64 writers are to be."""


@dataclass(frozen=True)
class Case:
    store: str
    writers: int
    way: str


@dataclass(frozen=True)
class Outcome:
    acknowledged: int
    failed: int
    rate: float
    p50: float
    p99: float
    snapshots: int
    requests: float
    """Per acknowledged write."""
    lost: int
    """Acknowledged, but not in the table."""


class Engine:
    """A process of an engine's program: with Catchment as it is here, or as another checkout has it."""

    def __init__(
        self,
        lake: Path,
        warehouse: str,
        installed: Installed,
        endpoint: str,
        program: str = "writing_engine.py",
        checkout: Path | None = None,
    ) -> None:
        command = [sys.executable, str(HERE / program), str(lake), warehouse, ",".join(installed.jars), endpoint]
        path = (*installed.python_path, *([str(checkout.resolve() / "src")] if checkout else []))
        source = {"SPARK_HOME": str(installed.spark_home), **({"PYTHONPATH": os.pathsep.join(path)} if path else {})}
        self.log = lake / f"{Path(program).stem}-{uuid.uuid4().hex[:8]}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | source
            )

    def answer(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"an engine has ended:\n{self.log.read_text()[-2000:]}")
        return json.loads(line)

    def ask(self, **task: Any) -> Any:
        self.send(**task)
        return self.answer()

    def send(self, **task: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer writers, one repetition on S3")
    parser.add_argument("--stores", nargs="+", default=["local", "s3"], choices=["local", "s3"])
    parser.add_argument("--writers", type=int, nargs="+")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--beside", type=Path, help="another checkout, measured in the same run")
    parser.add_argument("--save", type=Path, help="write the figures here (JSON)")
    asked = parser.parse_args()
    counts = asked.writers or ([1, 16, 64] if asked.quick else [1, 4, 16, 64])
    found: dict[Case, list[Outcome]] = {}
    leases: dict[str, float] = {}
    for store in asked.stores:
        repeat = 1 if asked.quick and store == "s3" else asked.repeat
        with ExitStack() as stack:
            warm: dict[str, list[Engine]] = {}
            if ours := [way for way in asked.ways if way not in PAIMON_WAYS]:
                warm |= dict.fromkeys(ours, stack.enter_context(engines(store, max(counts))))
            if older := [way for way in asked.ways if way in PAIMON_WAYS]:
                warm |= dict.fromkeys(older, stack.enter_context(engines(store, max(counts), paimon=True)))
            for paimon in (False, True) if asked.beside else ():
                theirs = [way for way, ours in BESIDE.items() if ours in asked.ways and (ours in PAIMON_WAYS) == paimon]
                if theirs:
                    beside = stack.enter_context(engines(store, max(counts), asked.beside, paimon=paimon))
                    warm |= dict.fromkeys(theirs, beside)
            measure(warm, store, counts, repeat, found)
            if "catchment" in warm:
                leases[store] = under_lease(warm["catchment"][0], store, repeat)
    report(found, leases)
    if asked.save:
        rows = [{**case.__dict__, "outcomes": [o.__dict__ for o in outcomes]} for case, outcomes in found.items()]
        asked.save.write_text(json.dumps(rows, indent=1) + "\n")


@contextmanager
def engines(
    store: str, most_writers: int, checkout: Path | None = None, *, paimon: bool = False
) -> Iterator[list[Engine]]:
    """Warm engines on an empty lake."""
    with (
        tempfile.TemporaryDirectory() as directory,
        engines_in(Path(directory), store, most_writers, checkout, paimon=paimon) as warm,
    ):
        yield warm


@contextmanager
def engines_in(
    directory: Path, store: str, most_writers: int, checkout: Path | None, *, paimon: bool
) -> Iterator[list[Engine]]:
    """The engines of a lake in this directory."""
    installed, server = installed_for(store, *(("paimon",) if paimon else ("iceberg", "delta"))), None
    program = "paimon_engine.py" if paimon else "writing_engine.py"
    warehouse, endpoint = str(directory / "warehouse"), ""
    if store == "s3":
        server = s3.start(s3.jar(), directory / "s3", latency_ms=LATENCY_MS)
        warehouse = "s3a://lake/warehouse"
        prefix = "spark.hadoop.fs.s3a."
        endpoint = json.dumps({key.removeprefix(prefix): value for key, value in server.spark_conf().items()})
    count = 1 if most_writers == 1 else 3
    started: list[Engine] = []
    try:
        for _ in range(count):  # one after the other: the first makes the catalog and the metastore
            started.append(Engine(directory, warehouse, installed, endpoint, program, checkout))
            assert started[-1].answer() == "ready"
        for way in PAIMON_WAYS if paimon else ("tuned", "catchment", "delta"):
            table = f"warm_{way.replace('-', '_')}"
            started[0].ask(do="create", table=table, way=way)
            _write(started, table, way, threads=2, each=4)
        yield started
    finally:
        for engine in started:
            engine.stop()
        if server:
            server.stop()


def measure(
    warm: dict[str, list[Engine]], store: str, counts: list[int], repeat: int, found: dict[Case, list[Outcome]]
) -> None:
    """Every way with every number of writers; repetitions take turns."""
    ways = tuple(warm)
    for writers in counts:
        each = max(1, {1: 16, 4: 8, 16: 4, 64: 2}.get(writers, 2) // (2 if store == "s3" else 1))
        for number in range(repeat):
            first = number % len(ways)
            for way in ways[first:] + ways[:first]:
                if number and way in SLOW:
                    continue
                case = Case(store, writers, way)
                outcome = run(warm[way], case, each, f"t_{way.replace('-', '_')}_{writers}_{number}")
                found.setdefault(case, []).append(outcome)
                print(f"  {store:5} {writers:3} writers {way:13} {outcome}", file=sys.stderr, flush=True)


def under_lease(engine: Engine, store: str, repeat: int) -> float:
    """The time under the lease for 64 buffers, over that for one."""
    seconds: dict[int, list[float]] = {1: [], 64: []}
    engine.ask(do="create", table="lease", way="catchment")
    for _ in range(repeat):
        for buffers, measured in seconds.items():
            measured.append(engine.ask(do="lease", table="lease", buffers=buffers))
    print(f"  {store:5} seconds under the lease, by buffers: {seconds}", file=sys.stderr, flush=True)
    return statistics.median(seconds[64]) / statistics.median(seconds[1])


def run(all_engines: list[Engine], case: Case, each: int, table: str) -> Outcome:
    """One way, once, on a table of its own; what was acknowledged is checked in the table."""
    used = all_engines[: min(len(all_engines), case.writers)]
    way = BESIDE.get(case.way, case.way)
    used[0].ask(do="create", table=table, way=way)
    share = [case.writers // len(used) + (index < case.writers % len(used)) for index in range(len(used))]
    answers = _write_shared(used, table, way, share, each)
    seconds = sorted(second for answer in answers for second in answer["seconds"])
    failed = sum(len(answer["failures"]) for answer in answers)
    seen = used[0].ask(do="look", table=table, way=way)
    if case.way not in LOSSY and not seen["rows"] == seen["ids"] == len(seconds):
        sys.exit(f"{case}: {len(seconds)} acknowledged, but {seen} in the table")
    return Outcome(
        len(seconds),
        failed,
        len(seconds) / max(answer["elapsed"] for answer in answers),
        seconds[len(seconds) // 2] if seconds else 0.0,
        seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))] if seconds else 0.0,
        seen["snapshots"],
        sum(answer["requests"] for answer in answers) / max(1, len(seconds)),
        len(seconds) - seen["ids"],
    )


def _write(used: list[Engine], table: str, way: str, threads: int, each: int) -> list[Any]:
    return _write_shared(used, table, way, [threads] * len(used), each)


def _write_shared(used: list[Engine], table: str, way: str, share: list[int], each: int) -> list[Any]:
    for engine, threads in zip(used, share, strict=True):
        engine.send(do="write", table=table, way=way, threads=threads, each=each)
    return [engine.answer() for engine in used]


def report(found: dict[Case, list[Outcome]], leases: dict[str, float]) -> None:
    """The table of medians, and each goal met or missed."""
    names = ("acknowledged", "failed", "rate /s", "p50 s", "p99 s", "snapshots", "S3 requests/write", "lost")
    print(f"| store | writers | way | {' | '.join(names)} |")
    print("|---" * (3 + len(names)) + "|")
    for case, outcomes in found.items():
        cells = [_cell(outcomes, name) for name in Outcome.__dataclass_fields__]
        print(f"| {case.store} | {case.writers} | {case.way} | " + " | ".join(cells) + " |")
    for line in goals(found, leases):
        print(line)


def _cell(outcomes: list[Outcome], name: str) -> str:
    values = [getattr(outcome, name) for outcome in outcomes]
    if name in ("acknowledged", "failed", "snapshots", "lost"):
        return f"{statistics.median(values):.0f}"
    spread = f" ({min(values):.2f}-{max(values):.2f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.2f}{spread}"


def goals(found: dict[Case, list[Outcome]], leases: dict[str, float]) -> Iterator[str]:
    """What was promised, and whether it held in this run."""

    def middle(store: str, writers: int, way: str, name: str) -> float | None:
        outcomes = found.get(Case(store, writers, way))
        return statistics.median([getattr(o, name) for o in outcomes]) if outcomes else None

    def line(what: str, value: float | None, limit: float, *, at_least: bool = False) -> Iterator[str]:
        if value is not None:
            met = value >= limit if at_least else value <= limit
            sign = ">=" if at_least else "<="
            yield f"- {what}: {value:.2f}, goal {sign} {limit:g}: {'met' if met else 'MISSED'}"

    catchment = [o for case, outcomes in found.items() if case.way in OURS for o in outcomes]
    yield from line("failed writes of catchment, all cases", float(sum(o.failed for o in catchment)), 0)
    for store, factor in (("s3", 20), ("local", 2)):
        rate, tuned = middle(store, 64, "catchment", "rate"), middle(store, 64, "tuned", "rate")
        yield from line(f"{store}, 64 writers: rate over tuned", _ratio(rate, tuned), factor, at_least=True)
        yield from line(
            f"{store}, 64 writers: rate over the version beside",
            _ratio(rate, middle(store, 64, "beside", "rate")),
            FASTER,
            at_least=True,
        )
        p99, theirs = middle(store, 64, "catchment", "p99"), middle(store, 64, "tuned", "p99")
        yield from line(f"{store}, 64 writers: p99 over tuned p99", _ratio(p99, theirs), 1)
        snapshots, writes = (middle(store, 64, "catchment", name) for name in ("snapshots", "acknowledged"))
        yield from line(f"{store}, 64 writers: snapshots per write", _ratio(snapshots, writes), 0.25)
        alone, plain = middle(store, 1, "catchment", "p50"), middle(store, 1, "plain", "p50")
        yield from line(f"{store}, one writer: p50 over plain p50", _ratio(alone, plain), 1.1)
    for store in ("s3", "local"):
        versions, writes = (middle(store, 64, "delta", name) for name in ("snapshots", "acknowledged"))
        yield from line(f"{store}, 64 writers, Delta: versions per write", _ratio(versions, writes), 0.25)
        faster = _ratio(middle(store, 64, "delta", "rate"), middle(store, 64, "beside-delta", "rate"))
        yield from line(f"{store}, 64 writers, Delta: rate over the version beside", faster, 4, at_least=True)
        ours, theirs = (middle(store, 64, way, "rate") for way in ("paimon", "paimon-locked"))
        if store == "s3":
            yield from line(f"{store}, 64 writers, Paimon: rate over its own", _ratio(ours, theirs), 5, at_least=True)
        ours, theirs = (middle(store, 1, way, "p50") for way in ("paimon", "paimon-locked"))
        yield from line(f"{store}, one writer, Paimon: p50 over its own", _ratio(ours, theirs), 1.1)
    for store, ratio in leases.items():
        yield from line(f"{store}: time under the lease for 64 buffers over that for one", ratio, 3)
    asked, theirs = middle("s3", 64, "catchment", "requests"), middle("s3", 64, "plain", "requests")
    yield from line("s3, 64 writers: requests per write over plain's", _ratio(asked, theirs), 1)


def _ratio(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


def installed_for(store: str, *kinds: str) -> Installed:
    """What an engine with depots of these kinds on this store needs; Paimon needs Spark 3.5."""
    from catchment.engine import packages
    from catchment.plan.model import EnginePlan
    from catchment.project.model import Catalog, Depot
    from catchment.project.model import Engine as EngineOfProject

    location = "s3a://lake/warehouse" if store == "s3" else tempfile.gettempdir()
    depots = tuple(Depot(kind, kind, location, None if kind == "delta" else Catalog()) for kind in kinds)
    engine = EngineOfProject("bench", "3.5" if "paimon" in kinds else "4.1")
    return packages.install(EnginePlan("bench", engine, depots=depots), lambda line: print(line, file=sys.stderr))


if __name__ == "__main__":
    main()
