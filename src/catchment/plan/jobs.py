"""Plans the inputs, steps and outputs of one job, and collects their problems."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.errors import Position, RequestError
from catchment.formats.registry import format_names, supporting, traits_of
from catchment.formats.traits import TableShape, Traits
from catchment.plan import datasets
from catchment.plan.bad_rows import bad_rows_of, quarantine_of, without_mode
from catchment.plan.changes import of_change
from catchment.plan.model import (
    ActionPlan,
    ChangePlan,
    Dataset,
    Delete,
    Expire,
    Expiry,
    FileAddress,
    InputPlan,
    OutputPlan,
    Rewrite,
    StepPlan,
)
from catchment.plan.options import check_options, spelled, spelled_options
from catchment.plan.streams import depot_of_checkpoint, is_stream
from catchment.project import depots
from catchment.project.address import is_path
from catchment.project.model import Project
from catchment.spec.findings import Findings
from catchment.spec.model import Action, Input, Job, Output, SaveMode, Step, Toolbox


@dataclass(frozen=True)
class Parts:
    """The parts of a job that could be resolved."""

    inputs: tuple[InputPlan, ...]
    steps: tuple[StepPlan, ...]
    outputs: tuple[OutputPlan, ...]
    actions: tuple[ActionPlan, ...] = ()
    change: ChangePlan | None = None
    checkpoint: tuple[str, ...] = ()
    """The name of the depot that holds the checkpoint; empty if none does."""

    @property
    def depots(self) -> tuple[str, ...]:
        """The names of the depots that the job reads or writes."""
        read = (source.dataset.depot for source in self.inputs)
        schemas = (source.schema_file.depot for source in self.inputs if source.schema_file)
        written = (output.dataset.depot for output in self.outputs)
        changed = (self.change.dataset.depot,) if self.change else ()
        return tuple(dict.fromkeys((*read, *schemas, *written, *changed, *self.checkpoint)))


@dataclass
class Resolver:
    """Resolves the jobs of one workflow against a project."""

    project: Project
    findings: Findings

    def parts(self, job: Job) -> Parts:
        """Inputs, steps and outputs of one job."""
        quarantines = self._quarantines(job)
        inputs = tuple(filter(None, (self._input(each, quarantines.get(each.name)) for each in job.inputs)))
        outputs = tuple(filter(None, map(self._output, (*job.outputs, *quarantines.values()))))
        for output in outputs:
            self._check_own_input(output, inputs)
        change = self._change(job.toolbox) if job.toolbox else None
        actions = tuple(filter(None, (self._action(action, job, inputs) for action in job.actions)))
        return Parts(inputs, tuple(map(_step, job.steps)), outputs, actions, change, self._checkpoint(job))

    def _checkpoint(self, job: Job) -> tuple[str, ...]:
        try:
            named = depot_of_checkpoint(job)
            return (depots.find(self.project, named).name,) if named else ()
        except RequestError:
            return ()  # reported with the checkpoint

    def _quarantines(self, job: Job) -> dict[str, Output]:
        """The outputs for bad rows by the name of their input; they come last, so that they are written last."""
        taken, found = [output.name for output in job.outputs], {}
        for source in job.inputs:
            if (output := quarantine_of(source, taken)) is not None:
                found[source.name] = output
                taken.append(output.name)
        return found

    def _input(self, given: Input, quarantine: Output | None) -> InputPlan | None:
        if not _is_known(given.format):
            return None
        try:
            dataset = datasets.of_input(given.dataset, given.format, self.project)
        except RequestError as error:
            self._report(error, given.dataset_where)
            return None
        self._check_schema(given, dataset.format)
        if given.commits is not None:
            self._check_commits(given, dataset, given.commits.where)
        bad_rows = bad_rows_of(given, dataset.format, self.findings)
        options = spelled_options(without_mode(given, bad_rows))
        return InputPlan(
            *(given.name, dataset, given.where, options, given.schema, given.schema_type),
            incremental=given.incremental,
            commits=given.commits,
            bad_rows=bad_rows,
            quarantine=quarantine.name if quarantine else None,
            schema_file=self._schema_file(given),
            stream=is_stream(given, dataset, self.findings),
        )

    def _check_schema(self, given: Input, format: str) -> None:
        traits, has_schema = traits_of(format), given.schema is not None or given.schema_path is not None
        if format in traits.needs_schema and not has_schema:
            message = f"input `{given.name}` needs a schema: {format} has none of its own"
            hint = "add `schemaType: spark` and `schemaString`, such as id BIGINT, name STRING"
            self.findings.error("missing-field", message, given.where, hint)
        elif has_schema and (traits.is_table or traits.needs_schema) and format not in traits.needs_schema:
            what = "table" if traits.is_table else "topic"
            message = f"input `{given.name}` is a {format} {what}, which has a schema of its own"
            self.findings.error("unsupported-by-format", message, given.where, "remove the schema from the input")

    def _schema_file(self, given: Input) -> FileAddress | None:
        if given.schema_path is None:
            return None
        try:
            return datasets.of_file(given.schema_path, self.project)
        except RequestError as error:
            self._report(error, given.places["schemaPath"])
            return None

    def _check_commits(self, given: Input, dataset: Dataset, where: Position) -> None:
        traits = traits_of(dataset.format)
        if not traits.history:
            message = f"`{given.dataset}` has no history to read from: {dataset.format} has no commits"
            hint = "read a window over a column (`context`, `keys`, `sql`), or keep the data in a table"
            self.findings.error("unsupported-by-snapshot", message, where, hint)
        fixed = {spelled(name) for name in traits.time_travel}
        for name in sorted(name for name in given.options if spelled(name) in fixed):
            message = f"`{name}` and `by: snapshot` both choose what is read"
            self.findings.error("misplaced-key", message, where, f"remove `{name}` from options")

    def _output(self, given: Output) -> OutputPlan | None:
        if not _is_known(given.format):
            return None
        try:
            dataset = datasets.of_output(given.dataset, given.name, given.format, self.project)
        except RequestError as error:
            self._report(error, given.dataset_where)
            return None
        if datasets.address_of(given.dataset, self.project).acl is None and not is_path(given.dataset):
            self._warn_no_acl(given)
        if dataset.depot in self.project.shared_depots:
            self._warn_shared(given, dataset.depot)
        self._check_traits(given, dataset.format)
        return _output_plan(given, dataset, self._linger(given, dataset))

    def _linger(self, given: Output, dataset: Dataset) -> float:
        """How long the output lingers; reports a `linger` of its own that cannot have an effect."""
        reason = self._no_linger(given, dataset)
        if given.linger and reason is not None:
            hint = f"leave `linger` out; it works on buffered commits to {supporting('groups', given.mode)}"
            self.findings.error("unsupported-linger", f"`linger` cannot be used here: {reason}", given.where, hint)
        lingers = self.project.settings.linger if given.linger is None else given.linger
        return lingers if reason is None else 0.0

    def _no_linger(self, given: Output, dataset: Dataset) -> str | None:
        """Why the write of an output cannot share a commit with others; None if it can."""
        catalog = depots.find(self.project, dataset.depot).catalog
        traits = traits_of(dataset.format)
        if given.mode not in traits.groups or (given.merge_schema and not traits.buffered):
            return f"{dataset.format} publishes such a write on its own"
        if given.merge is not None or given.commit == "direct":
            return "this write is not published through a buffer"
        if catalog is not None and traits.catalogs[catalog.type].loses_commits:
            return f"a {catalog.type} catalog allows one writer at a time"
        return None

    def _check_traits(self, given: Output, format: str) -> None:
        """Report what the format of an output does not support."""
        traits = traits_of(format)
        if not traits.writable:
            hint = f"write to a depot of another kind: {supporting('writable')}"
            self.findings.error("unsupported-by-format", f"{format} can only be read", given.where, hint)
            return
        if given.merge and not traits.merge:
            self._refuse_merge(given.merge.where, format)
        if given.conflict != "last-wins":
            self._check_conflict(given, traits)
        check_options(given, format, self.findings)
        self._check_shape(given, traits)
        if given.commit == "direct" and not traits.direct:
            hint = f"leave `commit` out; it works on {supporting('direct')}"
            self.findings.error("unsupported-direct", f"`commit: direct` cannot be used on {format}", given.where, hint)
        for field in (each for each in given.partitions if each.transform not in traits.transforms):
            message = f"{format} cannot be partitioned by {field.transform} of {field.column}"
            hint = "compute the value as a column in a step and partition by that column"
            self.findings.error("partition-invalid", message, field.where, hint)

    def _check_shape(self, given: Output, traits: Traits) -> None:
        """Report a declaration of a table that its format does not support or that makes no sense."""
        if given.primary_key and not traits.primary_keys:
            hint = f"remove `primaryKey`; it works on {supporting('primary_keys')}"
            where = given.primary_key[0].where
            message = f"tables of kind {traits.name} have no primary key"
            self.findings.error("unsupported-primary-key", message, where, hint)
            return
        keys, partitions = ([each.column for each in these] for these in (given.primary_key, given.partitions))
        where = given.primary_key[0].where if given.primary_key else given.option_places.get("properties", given.where)
        shape = TableShape(tuple(keys), tuple(partitions), given.properties, given.mode)
        for code, message, hint in traits.check_shape(shape):
            self.findings.error(code, message, where, hint)

    def _action(self, given: Action, job: Job, inputs: tuple[InputPlan, ...]) -> ActionPlan | None:
        source = next((each for each in inputs if each.name == given.input), None)
        if source is None:
            return None  # the problem of the input has been reported
        written = next(each for each in job.inputs if each.name == given.input)
        self._check_writable(written.dataset, written.dataset_where, given.operation.kind)
        self._check_operation(given, source.dataset.format)
        branch = {key: value for key, value in source.options.items() if key == "branch"}
        if branch and not isinstance(given.operation, Delete):
            message = f"{given.operation.kind} is for the table as a whole, not for the branch {branch['branch']}"
            self.findings.warning("ignored-key", message, given.where)
            branch = {}
        mode: SaveMode = "delete" if isinstance(given.operation, Delete) else "maintain"
        output = OutputPlan(given.name, source.name, source.dataset, given.where, mode=mode, options=branch)
        return ActionPlan(given.operation, output, self._expiry(given, job, source.dataset))

    def _expiry(self, given: Action, job: Job, table: Dataset) -> Expiry | None:
        """What a compaction may expire afterwards; nothing if the job says by itself what expires."""
        expires = any(isinstance(each.operation, Expire) and each.input == given.input for each in job.actions)
        if expires or not isinstance(given.operation, Rewrite):
            return None
        return Expiry(datasets.upkeep_of(self.project, table).retention)

    def _check_operation(self, given: Action, format: str) -> None:
        kind = given.operation.kind
        if not traits_of(format).supports(kind, format):
            hint = f"it works on {supporting('operations', kind)}"
            self.findings.error("unsupported-actions", f"not supported yet: {kind} on {format}", given.where, hint)

    def _check_writable(self, text: str, where: Position, kind: str) -> None:
        acl, hint = datasets.address_of(text, self.project).acl, "append ?acl=rw to the address"
        if acl == "r":
            message = f"`{text}` may only be read, and {kind} changes it"
            self.findings.error("read-only-input", message, where, hint)
        elif acl is None:
            message = f"`{text}` does not say how it is used; for {kind} it is taken as `acl=rw`"
            self.findings.warning("no-acl", message, where, hint)

    def _change(self, given: Toolbox) -> ChangePlan | None:
        try:
            plan = of_change(given.dataset, given.change, given.arguments, self.project, given.where)
        except RequestError as error:
            self._report(error, given.dataset_where)
            return None
        self._check_writable(given.dataset, given.dataset_where, given.change)
        return plan

    def _check_own_input(self, output: OutputPlan, inputs: tuple[InputPlan, ...]) -> None:
        """Report an output that overwrites plain files while the job reads them; tables have snapshots for that."""
        if output.dataset.is_table:
            return
        for source in inputs:
            if datasets.same_place(source.dataset, output.dataset):
                message = f"output `{output.name}` writes over the files that input `{source.name}` reads"
                hint = "write to another dataset, or keep the data in a table"
                self.findings.error("overwrites-own-input", message, output.where, hint)

    def _warn_shared(self, given: Output, depot: str) -> None:
        message = f"output `{given.name}` writes to depot `{depot}`, which is not the own one of environment "
        message += f"`{self.project.environment}`: writers of other environments do not know of each other"
        hint = "give the environment a depot of this name with another location, or write it from one environment only"
        self.findings.warning("shared-depot", message, given.dataset_where, hint)

    def _warn_no_acl(self, given: Output) -> None:
        message = f"`{given.dataset}` does not say how it is used; an output is taken as `acl=rw`"
        self.findings.warning("no-acl", message, given.dataset_where, "append ?acl=rw to the address")

    def _check_conflict(self, given: Output, traits: Traits) -> None:
        asked, where = f"`conflict: {given.conflict}`", given.option_places["conflict"]
        if not traits.conflict:
            message = f"{asked} needs a table: plain files do not record who changed them"
            hint = "keep the data in a table, or leave `conflict` out: the last one to replace a partition wins"
            self.findings.error("unsupported-conflict", message, where, hint)
        elif given.mode == "append":
            message = f"{asked} has no effect on an append, which replaces nothing"
            self.findings.error("unsupported-conflict", message, where, "leave `conflict` out")
        elif given.commit == "direct":
            message = f"{asked} cannot be used with `commit: direct`, whose commit compares nothing"
            hint = "leave `commit` out, or leave `conflict` out: the last one to replace a partition wins"
            self.findings.error("unsupported-conflict", message, where, hint)

    def _refuse_merge(self, where: Position, format: str) -> None:
        hint = (
            f"rows can be merged into {supporting('merge')}; or use saveMode overwrite with `overwrite-mode: dynamic`"
        )
        self.findings.error("unsupported-merge", f"rows cannot be merged into {format}", where, hint)

    def _report(self, error: RequestError, where: Position) -> None:
        self.findings.error(error.code, error.message, where, error.hint)


def _is_known(format: str | None) -> bool:
    """Whether a format is known; the spec reports unknown ones, and such a workflow gets no plan."""
    return format is None or format in format_names()


def _step(given: Step) -> StepPlan:
    return StepPlan(given.name, given.sql, given.where, given.sql_where, given.sql_lines)


def _output_plan(given: Output, dataset: Dataset, linger: float) -> OutputPlan:
    return OutputPlan(
        name=given.name,
        source=given.source,
        dataset=dataset,
        where=given.where,
        mode=given.mode,
        partitions=given.partitions,
        primary_key=given.primary_key,
        properties=given.properties,
        sort=given.sort,
        options=spelled_options(given.options),
        compression=given.compression,
        merge_schema=given.merge_schema,
        merge=given.merge,
        commit=given.commit,
        conflict=given.conflict,
        linger=linger,
        comment=": ".join(text for text in (given.title, given.description) if text) or None,
        tags=given.tags,
    )
