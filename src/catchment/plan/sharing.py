"""Finds datasets that several jobs write, and reports conflicts between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from catchment.errors import Diagnostic, Severity
from catchment.formats.registry import traits_of
from catchment.formats.traits import TableShape
from catchment.plan.graph import Graph
from catchment.plan.model import Dataset, JobPlan, OutputPlan, SharedTable
from catchment.spec.model import PartitionField, SaveMode, Workflow

_DOES: dict[SaveMode, str] = {
    "append": "appends",
    "overwrite": "replaces the whole dataset",
    "overwrite-partitions": "replaces partitions",
    "merge": "merges rows",
    "delete": "deletes rows",
    "maintain": "maintains the table",
}


@dataclass(frozen=True)
class Writer:
    job: str
    output: OutputPlan


@dataclass(frozen=True)
class Writers:
    """All writers of one dataset, in the plan's order."""

    dataset: Dataset
    all: tuple[Writer, ...]
    graph: Graph[str]

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that write, each once."""
        return tuple(dict.fromkeys(writer.job for writer in self.all))

    @cached_property
    def unordered_pair(self) -> tuple[Writer, Writer] | None:
        """Two neighbours without a defined order; if there are none, all writers are ordered."""
        pairs = zip(self.all, self.all[1:], strict=False)
        return next((pair for pair in pairs if not self.ordered(*pair)), None)

    def ordered(self, one: Writer, other: Writer) -> bool:
        """Whether dependencies decide which one commits first; outputs of one job are written in order."""
        return self.graph.ordered(one.job, other.job)

    def effect(self) -> str:
        """The effect of the sharing, in words."""
        modes = {writer.output.mode for writer in self.all}
        both = "both" if len(self.all) == 2 else "all"
        if modes == {"append"}:
            return f"{both} append"
        if modes == {"overwrite-partitions"}:
            return f"{both} replace partitions: last to commit wins where they overlap"
        if modes == {"merge"}:
            return f"{both} merge: each sees what the others have committed"
        effects = [f"{writer.job} {_DOES[writer.output.mode]}" for writer in self.all]
        if self.unordered_pair:
            return f"{', '.join(effects)}: the order of commits decides the result"
        return f"one after the other: {', then '.join(effects)}"


def examine(jobs: Sequence[JobPlan], graph: Graph[str]) -> tuple[tuple[SharedTable, ...], tuple[Diagnostic, ...]]:
    """The shared datasets of a plan, and the problems of sharing them."""
    by_place: dict[str, list[Writer]] = {}
    for job in jobs:
        # Maintenance changes no rows, so it does not conflict with other writers.
        for output in (each for each in job.writes if each.mode != "maintain"):
            by_place.setdefault(_place(output.dataset), []).append(Writer(job.name, output))
    shared = [Writers(found[0].output.dataset, tuple(found), graph) for found in by_place.values() if len(found) > 1]
    findings = [finding for writers in shared for finding in _examine(writers)]
    findings += _nested(by_place)
    findings += _read_while_written(jobs, by_place, graph)
    tables = tuple(SharedTable(writers.dataset.address, writers.jobs, writers.effect()) for writers in shared)
    return tables, tuple(findings)


def lingering_alone(workflow: Workflow, plans: Sequence[JobPlan], graph: Graph[str]) -> Iterator[Diagnostic]:
    """Report outputs that linger although no other output can be written to the table at the same time."""
    lingering = [Writer(job.name, each) for job in plans for each in job.outputs if each.linger]
    given = {(job.name, each.name) for job in workflow.jobs for each in job.outputs if each.linger}
    for writer in (each for each in lingering if (each.job, each.output.name) in given):
        target = writer.output.dataset.target
        others = (other.job for other in lingering if other.output.dataset.target == target)
        if all(graph.ordered(writer.job, other) for other in others):
            message = f"`linger` has no effect: nobody else writes {writer.output.dataset.address} at the same time"
            hint = "leave it out, or give it to every job that writes the table and need not wait for this one"
            yield Diagnostic("linger-alone", message, writer.output.where, hint)


def _examine(writers: Writers) -> Iterator[Diagnostic]:
    yield from _partitions(writers)
    if writers.dataset.is_table:
        yield from _properties(writers)
    yield from _order(writers)
    yield from _of_format(writers)


def _partitions(writers: Writers) -> Iterator[Diagnostic]:
    declared = [writer for writer in writers.all if writer.output.partitions]
    silent = [writer for writer in writers.all if not writer.output.partitions]
    address = writers.dataset.address
    for writer in declared[1:]:
        first = declared[0]
        differing = _first_difference(first.output.partitions, writer.output.partitions)
        if differing is not None:
            message = f"jobs `{first.job}` and `{writer.job}` declare different partitions for {address}"
            hint = f"one table has one partition spec: {_spec(first.output.partitions)}"
            yield Diagnostic("partition-specs-differ", message, differing.where, hint)
    for writer in silent if declared else ():
        message = f"job `{writer.job}` declares no partitions for {address}, job `{declared[0].job}` does"
        hint = "declare the same partitions in both: the first one to write creates the table"
        yield Diagnostic("partition-spec-undeclared", message, writer.output.where, hint, Severity.WARNING)


def _first_difference(one: Sequence[PartitionField], other: Sequence[PartitionField]) -> PartitionField | None:
    pairs = zip(one, other, strict=False)
    differing = next((theirs for mine, theirs in pairs if _shape(mine) != _shape(theirs)), None)
    return differing or (None if len(one) == len(other) else other[min(len(one), len(other) - 1)])


def _shape(field: PartitionField) -> tuple[str, str, str | None, int | None]:
    return field.transform, field.column, field.name, field.argument


def _spec(fields: Sequence[PartitionField]) -> str:
    return ", ".join(
        f"{field.transform}({', '.join(map(str, filter(None, (field.argument, field.column))))})"
        + (f" as {field.name}" if field.name else "")
        for field in fields
    )


def _properties(writers: Writers) -> Iterator[Diagnostic]:
    first, *others = writers.all
    for writer in others:
        mine, theirs = first.output.properties, writer.output.properties
        keys = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
        if keys:
            message = f"jobs `{first.job}` and `{writer.job}` differ in properties of one table: {', '.join(keys)}"
            hint = "declare the same properties in both: the first one to write creates the table"
            yield Diagnostic("properties-differ", message, writer.output.where, hint, Severity.WARNING)


def _order(writers: Writers) -> Iterator[Diagnostic]:
    """Report writers whose order decides the result but is not defined."""
    if writers.unordered_pair is None:
        return
    address = writers.dataset.address
    if (pair := _unordered_pair(writers, "overwrite", None)) is not None:
        one, other = pair
        message = f"job `{one.job}` replaces all of {address}, which `{other.job}` writes as well"
        hint = "let one depend on the other, or set `overwrite-mode: dynamic` to replace only its own partitions"
        yield Diagnostic("full-overwrite-shared", message, one.output.where, hint, Severity.WARNING)
    elif (pair := _unordered_pair(writers, "overwrite-partitions", "append")) is not None:
        one, other = pair
        message = f"job `{one.job}` replaces partitions of {address}; what `{other.job}` appends there before is gone"
        hint = "let one depend on the other"
        yield Diagnostic("append-and-replace-shared", message, one.output.where, hint, Severity.WARNING)


def _of_format(writers: Writers) -> Iterator[Diagnostic]:
    """Report problems that the format has with writers without a defined order."""
    if writers.unordered_pair is None:
        return
    one, other = writers.unordered_pair
    columns = ([each.column for each in these] for these in (other.output.primary_key, other.output.partitions))
    keys, partitions = map(tuple, columns)
    shape = TableShape(keys, partitions, other.output.properties)
    for code, message, hint in traits_of(writers.dataset.format).check_sharing(shape):
        what = f"jobs `{one.job}` and `{other.job}` write {writers.dataset.address} at the same time: {message}"
        where = other.output.primary_key[0].where if other.output.primary_key else other.output.where
        yield Diagnostic(code, what, where, hint, Severity.WARNING)


def _unordered_pair(writers: Writers, mode: SaveMode, other_mode: SaveMode | None) -> tuple[Writer, Writer] | None:
    ones = (writer for writer in writers.all if writer.output.mode == mode)
    others = [writer for writer in writers.all if other_mode in (None, writer.output.mode)]
    return next(((one, other) for one in ones for other in others if not writers.ordered(one, other)), None)


def _nested(by_place: dict[str, list[Writer]]) -> Iterator[Diagnostic]:
    for writers in by_place.values():
        inner = writers[0].output
        for parent in _parents(inner.dataset.path or ""):
            for outer in by_place.get(parent, ())[:1]:
                message = (
                    f"{inner.dataset.address} lies inside {outer.output.dataset.address}, an output of `{outer.job}`"
                )
                hint = "give each output a directory of its own"
                yield Diagnostic("nested-file-outputs", message, inner.where, hint, Severity.WARNING)


def _read_while_written(
    jobs: Sequence[JobPlan], by_place: dict[str, list[Writer]], graph: Graph[str]
) -> Iterator[Diagnostic]:
    for job in jobs:
        for source in job.inputs:
            if source.dataset.is_table:
                continue
            for writer in by_place.get(_place(source.dataset), ()):
                if not graph.ordered(job.name, writer.job):
                    message = f"job `{job.name}` reads {source.dataset.address} while `{writer.job}` may write it"
                    hint = f"let `{job.name}` depend on `{writer.job}`: plain files have no snapshots"
                    yield Diagnostic("read-while-written", message, source.where, hint, Severity.WARNING)


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _place(dataset: Dataset) -> str:
    return dataset.path or dataset.address
