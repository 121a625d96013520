"""Builds a plan from a workflow and a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError

from catchment.errors import Diagnostic, RequestError
from catchment.plan import engines, fitting, settings, sharing, streams
from catchment.plan.embedded import with_embedded
from catchment.plan.graph import Graph
from catchment.plan.jobs import Parts, Resolver
from catchment.plan.model import EnginePlan, JobPlan, Placement, Plan, StreamPlan
from catchment.plan.options import check_read_options
from catchment.plan.sql_checks import check_steps
from catchment.project import depots
from catchment.project.model import Depot, Project
from catchment.spec.findings import Findings
from catchment.spec.model import Job, Workflow


def draft(workflow: Workflow, project: Project, findings: Findings) -> Plan | None:
    """The plan, or None if the jobs cannot be ordered; it may be used only if the findings have no error."""
    project = with_embedded(workflow, project)
    graph = _graph(workflow)
    findings.extend(_cycles(workflow, graph))
    resolver = Resolver(project, findings)
    parts = {job.name: resolver.parts(job) for job in workflow.jobs}
    try:
        order = graph.order
    except CycleError:
        return None
    jobs = {job.name: job for job in workflow.jobs}
    used = {name: tuple(depots.find(project, depot) for depot in parts[name].depots) for name in order}
    chosen = {name: _choose(jobs[name], used[name], project, findings) for name in order}
    for name, choice in chosen.items():
        _check_reading(jobs[name], parts[name], choice, findings)
    needs = [_need(jobs[name], chosen[name], used[name]) for name in order]
    of_project = project.metastore, project.settings, str(project.root)
    keys, processes = engines.assign(needs, fitting.available(project), *of_project)
    streaming = {name: _stream(workflow, jobs[name], parts[name], chosen[name], project, findings) for name in order}
    plans = tuple(_job(jobs[name], parts[name], keys[name], graph, streaming[name]) for name in order)
    findings.extend(streams.waiting(workflow, plans, graph))
    findings.extend(streams.sharing_checkpoints(plans))
    findings.extend(_sql_errors(workflow, plans, processes))
    shared, problems = sharing.examine(plans, graph)
    findings.extend(problems)
    findings.extend(sharing.lingering_alone(workflow, plans, graph))
    placed = [Placement(name, choice.engine.name, choice.reason) for name, choice in chosen.items() if choice.reason]
    return Plan(workflow.name, workflow.file, plans, processes, shared, tuple(placed))


def _graph(workflow: Workflow) -> Graph[str]:
    """The graph of jobs by name, without unknown and self dependencies, which the spec reports."""
    names = {job.name for job in workflow.jobs}
    needed = {
        job.name: tuple(name for name, _ in job.dependencies if name in names and name != job.name)
        for job in workflow.jobs
    }
    return Graph(needed)


def _cycles(workflow: Workflow, graph: Graph[str]) -> Iterator[Diagnostic]:
    """Report each cycle so that its last arrow is the dependency that appears last in the file."""
    number = {job.name: at for at, job in enumerate(workflow.jobs)}
    jobs = {job.name: job for job in workflow.jobs}
    for cycle in graph.cycles():
        last = max(range(len(cycle)), key=lambda at: number[cycle[at]])
        chain = (*cycle[last + 1 :], *cycle[: last + 1])
        closing = jobs[cycle[last]]
        where = next(where for name, where in closing.dependencies if name == chain[0])
        message = f"jobs wait for each other: {' -> '.join((*chain, chain[0]))}"
        yield Diagnostic("dependency-cycle", message, where, "remove one of these dependencies")


def _choose(job: Job, used: Sequence[Depot], project: Project, findings: Findings) -> fitting.Choice:
    """The engine of a job: the one that its `compute` names, or else one that can handle its depots."""
    asked = None if engines.names_none(job.compute) else fitting.available(project).get(str(job.compute))
    where = job.compute_where if asked and job.compute_where else job.where
    try:
        if asked is None:
            choice = fitting.choose(project, used)
            _check_compute(job, choice, project, findings)
            return choice
        fitting.require(asked, used, project)
    except RequestError as error:
        findings.error(error.code, f"job `{job.name}`: {error.message}", where, error.hint)
    return fitting.Choice(asked or project.engines[fitting.DEFAULT])


def _check_compute(job: Job, choice: fitting.Choice, project: Project, findings: Findings) -> None:
    if not engines.names_none(job.compute):
        message = f"the project has no engine `{job.compute}`; job `{job.name}` runs on `{choice.engine.name}`"
        hint = f"add it to `engines` in the project file, or use one of {', '.join(sorted(project.engines))}"
        findings.warning("unknown-compute", message, job.where, hint)


def _sql_errors(workflow: Workflow, plans: Sequence[JobPlan], engines: Sequence[EnginePlan]) -> Iterator[Diagnostic]:
    jobs, keyed = {job.name: job for job in workflow.jobs}, {engine.key: engine for engine in engines}
    makes_tables = any(job.side_effects for job in workflow.jobs)
    for plan in (each for each in plans if each.steps):
        yield from check_steps(jobs[plan.name], plan, keyed[plan.engine], makes_tables=makes_tables)


def _check_reading(job: Job, parts: Parts, choice: fitting.Choice, findings: Findings) -> None:
    """Report the options that no reader of the job's engine knows."""
    sources = {each.name: each for each in parts.inputs}
    for given in job.inputs:
        if given.name in sources:
            check_read_options(given, sources[given.name], choice.engine.spark, findings)


def _stream(
    workflow: Workflow, job: Job, parts: Parts, choice: fitting.Choice, project: Project, findings: Findings
) -> StreamPlan | None:
    """How the job runs as a stream, if it is one."""
    found = list(streams.plan_stream(workflow.name, job, parts.inputs, parts.outputs, choice.engine, project))
    findings.extend(each for each in found if isinstance(each, Diagnostic))
    return next((each for each in found if isinstance(each, StreamPlan)), None)


def _need(job: Job, choice: fitting.Choice, used: tuple[Depot, ...]) -> engines.Need:
    _, application = settings.split(job.spark_conf)
    return engines.Need(job.name, choice.engine, application, job.envs, used, guest=job.toolbox is not None)


def _job(job: Job, parts: Parts, key: str, graph: Graph[str], stream: StreamPlan | None) -> JobPlan:
    session, _ = settings.split(job.spark_conf)
    return JobPlan(
        name=job.name,
        engine=key,
        where=job.where,
        depends_on=graph.dependencies[job.name],
        inputs=parts.inputs,
        steps=parts.steps,
        outputs=tuple(map(streams.as_batches, parts.outputs)) if stream else parts.outputs,
        stream=stream,
        actions=parts.actions,
        change=parts.change,
        conf=session,
        log_level=job.log_level,
        explain=job.explain,
        preview_rows=job.preview_rows,
        side_effects=job.side_effects,
        retry=job.retry,
    )
