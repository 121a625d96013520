"""Plans made by hand and the real worker behind the real launcher: what every test of this room stands on."""

from __future__ import annotations

import itertools
import json
import queue
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from catchment.engine.class_archive import NO_SHARING
from catchment.engine.launcher import EngineProcess
from catchment.engine.protocol import (
    AskHealth,
    Cancel,
    Change,
    Done,
    DropTable,
    Facts,
    Failed,
    Inspect,
    Maintain,
    Note,
    Preparing,
    Ready,
    Recover,
    Reply,
    Rows,
    RunJob,
    RunQuery,
    TryJobs,
)
from catchment.errors import EngineLost, Position
from catchment.plan.model import (
    ActionPlan,
    ChangePlan,
    Clause,
    Dataset,
    Delete,
    EnginePlan,
    Incremental,
    InputPlan,
    JobPlan,
    Key,
    Maintenance,
    Merge,
    OutputPlan,
    Partition,
    PartitionField,
    StepPlan,
    Template,
)
from catchment.plan.options import spelled_options
from catchment.project.model import Catalog, Depot, Engine, Settings
from catchment.run.query_result import QueryResult
from catchment.run_model import OutputResult, RunRequest
from catchment.spec.findings import Findings
from catchment.spec.model import ChangeName, SourceLine
from catchment.spec.reading.incremental import without_end
from catchment.spec.reading.placeholders import read_template
from catchment.spec.tree import ScalarNode
from catchment.table_health import TableHealth
from tests import both_ways

HERE = Position("workflow.yaml", 1, 1)
PATIENCE = 200.0
"""Seconds; on a fresh machine an engine may wait until another one has made its class archive."""
_numbers = itertools.count(1)
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For a handful of rows, making and compiling code takes longer than it saves. Tests by the command line do compile."""
SMALL = {**INTERPRETED, "spark.sql.shuffle.partitions": "2"}
LENIENT = {"spark.sql.files.ignoreCorruptFiles": "true", "spark.sql.files.ignoreMissingFiles": "true"}
"""For engines that read over what is damaged or gone."""
ROOMY = {"spark.driver.memory": "2g"}
"""For engines that serve a whole session: a job must not wait for memory while another one waits for that job."""
UNPREPARED = {**SMALL, **ROOMY, "spark.driver.extraJavaOptions": f"-Dnone={NO_SHARING}"}
"""For engines with jars that few tests need: preparing quick starts for them takes longer than they save. As a property
it is read by Catchment alone: Java keeps the archive of its own classes."""


def lake_depot(root: Path, name: str = "lake") -> Depot:
    """An Iceberg depot on a SQLite catalog."""
    catalog = Catalog(database=str(root / name / "catalog.db"))
    return Depot(name, "iceberg", str(root / name), catalog, publish=f"{name}_published")


def files_depot(root: Path, name: str = "drop") -> Depot:
    return Depot(name, "files", str(root / name))


def delta_depot(root: Path, name: str = "events") -> Depot:
    return Depot(name, "delta", str(root / name))


def paimon_depot(root: Path, name: str = "pond", **catalog: Any) -> Depot:
    return Depot(name, "paimon", str(root / name), Catalog(**{"type": "filesystem", **catalog}))


def paimon_table(name: str, depot: str = "pond", namespace: str = "raw") -> Dataset:
    return Dataset(f"dataos://{depot}:{namespace}/{name}", depot, "paimon", namespace, name)


def delta_table(name: str, root: Path, depot: str = "events", namespace: str = "raw") -> Dataset:
    place = str(root / depot / namespace / name)
    return Dataset(f"dataos://{depot}:{namespace}/{name}", depot, "delta", namespace, name, place)


def table(name: str, depot: str = "lake", namespace: str = "raw") -> Dataset:
    return Dataset(f"dataos://{depot}:{namespace}/{name}", depot, "iceberg", namespace=namespace, table=name)


def files(path: Path, format: str) -> Dataset:
    return Dataset(f"dataos://drop:none/{path.name}", "drop", format, path=str(path))


def step(name: str, sql: str, where: Position = HERE) -> StepPlan:
    return StepPlan(name, sql, where, where)


def reading(name: str, dataset: Dataset, **options: str) -> InputPlan:
    return InputPlan(name, dataset, HERE, spelled_options(options))


def windowed(
    name: str, dataset: Dataset, sql: str, keys: Mapping[str, str], state: Mapping[str, str], line: int = 30
) -> InputPlan:
    """An input that is read through a window; its keys stand in the lines from 30 on, one in each."""

    def template(text: str, line: int) -> Template:
        where = Position("workflow.yaml", line, 9)
        return read_template(text, ScalarNode(text, text, where), Findings())

    window, context = template(sql, line - 1), f"all_{name}"
    known = tuple(
        Key(
            key,
            template(text, line + index),
            Position("workflow.yaml", line + index, 5),
            context in text or "run_time" in text,
        )
        for index, (key, text) in enumerate(keys.items())
    )
    newer = without_end(window, frozenset(state))
    return replace(reading(name, dataset), incremental=Incremental(context, window, known, state, HERE, newer))


def output(source: str, dataset: Dataset, **more: Any) -> OutputPlan:
    return OutputPlan(name=more.pop("name", "out"), source=source, dataset=dataset, where=HERE, **more)


def by(transform: Any, column: str, argument: int | None = None, name: str | None = None) -> PartitionField:
    return PartitionField(transform, column, HERE, name, argument)


def job(
    *outputs: OutputPlan,
    steps: Sequence[StepPlan] = (),
    inputs: Sequence[InputPlan] = (),
    name: str = "job",
    **more: Any,
) -> JobPlan:
    calls_java = any("java_method" in each.sql for each in steps)  # to wait for something in the middle of its work
    plan = JobPlan(name, "default", HERE, inputs=tuple(inputs), steps=tuple(steps), outputs=outputs, **more)
    return replace(plan, side_effects=True) if calls_java else plan


def writing(sql: str, dataset: Dataset, *, name: str = "job", **more: Any) -> JobPlan:
    """A job of one step and one output."""
    return job(output("rows", dataset, **more), steps=[step("rows", sql)], name=name)


def clause(sql: str, where: Position = HERE) -> Clause:
    return Clause(sql, where, (SourceLine(0, where.line, where.column),))


def merging(sql: str, dataset: Dataset, on: str, when: str, *, name: str = "job", **more: Any) -> JobPlan:
    """A job that merges the rows of a query; ON stands in line 10 of its file, WHEN in line 11."""
    places = (Position("workflow.yaml", line, 5) for line in (10, 11))
    merge = Merge(clause(on, next(places)), clause(when, next(places)), HERE)
    return writing(sql, dataset, name=name, mode="merge", merge=merge, **more)


def changing(target: Dataset, change: ChangeName, **arguments: Any) -> ChangePlan:
    """A change of a table, asked for in line 30 of its file."""
    return ChangePlan(change, target, arguments, f"{target.depot}_published", Position("workflow.yaml", 30, 9))


def deleting(target: Dataset, condition: str, *more: InputPlan, **options: str) -> JobPlan:
    """A job that deletes rows; the condition stands in line 20 of its file."""
    action = ActionPlan(
        Delete(clause(condition, Position("workflow.yaml", 20, 9))),
        output("rows", target, name="delete_from_dataset", mode="delete", options=options),
    )
    return job(inputs=[reading("rows", target, **options), *more], actions=(action,), name="cleaning")


def maintaining(target: Dataset, operation: Maintenance, name: str = "upkeep", **more: Any) -> JobPlan:
    """A job that does nothing but look after a table."""
    action = ActionPlan(operation, output("rows", target, name=operation.kind, mode="maintain"), **more)
    return job(inputs=[reading("rows", target)], actions=(action,), name=name)


@dataclass
class Pending:
    """An attempt that was sent off."""

    id: str
    replies: queue.Queue[Reply | EngineLost] = field(default_factory=queue.Queue)
    notes: list[Note] = field(default_factory=list)

    def is_answered(self) -> bool:
        """Whether the answer has come; notes before it are read."""
        while not self.replies.empty():
            reply = self.replies.get()
            if not isinstance(reply, Note):
                self.replies.put(reply)
                return True
            self.notes.append(reply)
        return False

    def answer(self, patience: float = PATIENCE) -> Reply | EngineLost:
        while True:
            reply = self.replies.get(timeout=patience)
            if not isinstance(reply, Note):
                return reply
            self.notes.append(reply)

    def result(self) -> QueryResult:
        """The result of a query, whose rows may come in several messages."""
        texts: tuple[str, ...] = ()
        while True:
            reply = self.answer()
            assert isinstance(reply, Rows), reply
            texts += reply.rows
            if not reply.more:
                return QueryResult(reply.columns, reply.types, texts, reply.truncated)

    def wait_for(self, event: str) -> Note:
        while True:
            reply = self.replies.get(timeout=PATIENCE)
            assert isinstance(reply, Note), reply
            self.notes.append(reply)
            if reply.event == event:
                return reply

    def done(self) -> tuple[OutputResult, ...]:
        reply = self.answer()
        assert isinstance(reply, Done), reply
        return reply.outputs

    def failed(self) -> Failed:
        reply = self.answer()
        assert isinstance(reply, Failed), reply
        return reply


class LiveEngine:
    """A started engine, and a letter box for each of its attempts."""

    def __init__(self, plan: EnginePlan, log_dir: Path, secrets: tuple[str, ...] = ()) -> None:
        self.log_dir = log_dir
        self.plan = plan
        self.general: queue.Queue[Reply | EngineLost] = queue.Queue()
        self.lost: EngineLost | Failed | None = None
        self._pending: dict[str, Pending] = {}
        self.process = self._started(secrets)

    def _started(self, secrets: tuple[str, ...]) -> EngineProcess:
        return EngineProcess.start(self.plan, log_dir=self.log_dir, secrets=secrets, inbox=self._inbox)

    def _inbox(self, key: str, reply: Reply | EngineLost) -> None:
        assert key == self.plan.key
        attempt = getattr(reply, "attempt", None)
        if isinstance(reply, EngineLost) or (isinstance(reply, Failed) and not attempt):
            self.lost = reply
            for pending in list(self._pending.values()):
                pending.replies.put(reply)
        (self._pending[attempt].replies if attempt else self.general).put(reply)

    def ready(self, patience: float = PATIENCE) -> Ready:
        reply = self.general.get(timeout=patience)
        while isinstance(reply, Preparing):
            reply = self.general.get(timeout=patience)
        assert isinstance(reply, Ready), reply
        return reply

    def _send(self, make: Any) -> Pending:
        pending = Pending(f"attempt-{next(_numbers)}")
        self._pending[pending.id] = pending
        if self.lost:
            pending.replies.put(self.lost)
        self.process.send(make(pending.id))
        return pending

    def start_job(
        self, job: JobPlan, *, run: str | None = None, number: int = 1, workflow: str = "workflow", **more: Any
    ) -> Pending:
        run = run or f"run-{next(_numbers)}"
        request = RunRequest("2026-03-01T12:00:00+00:00", **more)
        return self._send(lambda id: RunJob(id, job, workflow, run, number, request))

    def run(self, job: JobPlan, **more: Any) -> tuple[OutputResult, ...]:
        return self.start_job(job, **more).done()

    def fail(self, job: JobPlan, **more: Any) -> Failed:
        return self.start_job(job, **more).failed()

    def start_query(
        self, sql: str, limit: int | None = None, *, write: bool = True, published: bool = False
    ) -> Pending:
        return self._send(lambda id: RunQuery(id, sql, limit, published, write and not published))

    def ask(self, sql: str, limit: int | None = None, *, write: bool = True) -> QueryResult:
        return self.start_query(sql, limit, write=write).result()

    def rows(self, sql: str, *, published: bool = False) -> list[tuple[Any, ...]]:
        """The rows as JSON has them."""
        return [tuple(json.loads(text)) for text in self.start_query(sql, published=published).result().texts]

    def value(self, sql: str) -> Any:
        return self.rows(sql)[0][0]

    def refused_query(self, sql: str, *, write: bool = False, published: bool = False) -> Failed:
        return self.start_query(sql, write=write, published=published).failed()

    def try_jobs(self, *jobs: JobPlan, sample: int | None = 100, rows: int = 2) -> dict[str, Mapping[str, Any]]:
        """What jobs would compute, by their names."""
        request = RunRequest("2026-03-01T12:00:00+00:00")
        reply = self._send(lambda id: TryJobs(id, jobs, "workflow", request, sample, rows)).answer()
        assert isinstance(reply, Facts), reply
        return {each["name"]: each for each in reply.data["jobs"]}

    def inspect(self, what: Any, dataset: Dataset) -> Mapping[str, Any]:
        """The answer of the engine, which is that without one, too, where there is such an answer."""
        depot, asked = self._asked(what, dataset)
        return both_ways.check(
            lambda: self.asked_alone(what, dataset), lambda: both_ways.read(self.plan, what, depot, asked)
        )

    def asked_alone(self, what: Any, dataset: Dataset) -> Mapping[str, Any]:
        """The answer of the engine."""
        reply = self._send(lambda id: Inspect(id, what, *self._asked(what, dataset))).answer()
        assert isinstance(reply, Facts), reply
        return reply.data

    def refused_inspection(self, what: Any, dataset: Dataset) -> Failed:
        """Why the engine cannot answer."""
        return self._send(lambda id: Inspect(id, what, *self._asked(what, dataset))).failed()

    def _asked(self, what: str, dataset: Dataset) -> tuple[Depot, Dataset | None]:
        depot = next(each for each in self.plan.depots if each.name == dataset.depot)
        return depot, None if what == "tables" else dataset

    def recover(self, *tables: Dataset, remove: bool = True) -> list[Mapping[str, Any]]:
        reply = self._send(lambda id: Recover(id, tables, remove)).answer()
        assert isinstance(reply, Facts), reply
        return list(reply.data["tables"])

    def start_change(self, change: ChangePlan, *, dry_run: bool = False) -> Pending:
        return self._send(lambda id: Change(id, change, "somebody", dry_run))

    def change(self, change: ChangePlan, *, dry_run: bool = False) -> Mapping[str, Any]:
        reply = self.start_change(change, dry_run=dry_run).answer()
        assert isinstance(reply, Facts), reply
        return reply.data

    def start_drop(self, target: Dataset, *, expected: str | None = None, dry_run: bool = False) -> Pending:
        depot = next(each for each in self.plan.depots if each.name == target.depot)
        return self._send(lambda id: DropTable(id, target, depot.publish, expected, dry_run))

    def drop(self, target: Dataset, *, expected: str | None = None, dry_run: bool = False) -> Mapping[str, Any]:
        reply = self.start_drop(target, expected=expected, dry_run=dry_run).answer()
        assert isinstance(reply, Facts), reply
        return reply.data

    def start_maintenance(self, target: Dataset, operation: Maintenance, *, dry_run: bool = False) -> Pending:
        return self._send(lambda id: Maintain(id, target, operation, "somebody", dry_run))

    def maintain(self, target: Dataset, operation: Maintenance, *, dry_run: bool = False) -> Mapping[str, Any]:
        reply = self.start_maintenance(target, operation, dry_run=dry_run).answer()
        assert isinstance(reply, Facts), reply
        return reply.data

    def health(
        self, target: Dataset, small_file_bytes: int | None = None, wanted: Sequence[Partition] = ()
    ) -> TableHealth:
        """The answer of the engine, which is that without one, too, where there is such an answer."""
        asked = (target, small_file_bytes, wanted)
        found = both_ways.check(lambda: self._health(*asked), lambda: asdict(both_ways.read_health(self.plan, *asked)))
        return TypeAdapter(TableHealth).validate_python(found)

    def _health(self, target: Dataset, small_file_bytes: int | None, wanted: Sequence[Partition]) -> Mapping[str, Any]:
        reply = self._send(lambda id: AskHealth(id, target, small_file_bytes, wanted=tuple(wanted))).answer()
        assert isinstance(reply, Facts), reply
        return reply.data

    def start_forward(self, dataset: Dataset, branch: str, to: str = "main", *, dry_run: bool = False) -> Pending:
        change = changing(dataset, "branch_fast_forward", branch=branch, to=to)
        return self.start_change(change, dry_run=dry_run)

    def forward(self, dataset: Dataset, branch: str, **more: Any) -> Mapping[str, Any]:
        reply = self.start_forward(dataset, branch, **more).answer()
        assert isinstance(reply, Facts), reply
        return reply.data

    def cancel(self, pending: Pending) -> None:
        self.process.send(Cancel(pending.id))

    def log(self, job: str, number: int = 1) -> str:
        return (self.log_dir / f"{job}.{number}.log").read_text()


def engine_plan(
    *depots: Depot,
    key: str = "default",
    fault: str = "",
    metastore: str = "",
    settings: Settings | None = None,
    **engine: Any,
) -> EnginePlan:
    """An engine on these depots; without another metastore, one in a file beside the first of them."""
    configured = Engine(name="default", master="local[2]", conf=SMALL)
    configured = replace(configured, **engine)
    return EnginePlan(
        key=key,
        engine=configured,
        conf=configured.conf,
        envs={"CATCHMENT_FAULT": fault} if fault else {},
        depots=depots,
        metastore=metastore or _beside(depots),
        settings=settings or Settings(),
    )


def _beside(depots: tuple[Depot, ...]) -> str:
    return f"sqlite:///{Path(depots[0].location).parent / 'metastore.db'}" if depots else ""
