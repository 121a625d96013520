"""Reads one DAG node into one canonical job. Every part is read, so that a bad part hides no problems elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from catchment.spec.findings import Findings
from catchment.spec.grammar import job as grammar
from catchment.spec.grammar import workflow as dag
from catchment.spec.model import Job, Output, Retry
from catchment.spec.reading.inputs import read_inputs, read_steps
from catchment.spec.reading.outputs import read_outputs
from catchment.spec.reading.streaming import read_streaming
from catchment.spec.reading.table_actions import read_actions, read_compaction, read_toolbox
from catchment.spec.reading.unsupported import check_job, check_spec, check_stack
from catchment.spec.reading.views import read_views
from catchment.spec.tree import MapNode
from catchment.spec.validation import parse

_READERS = {"toolbox": read_toolbox, "compaction": read_compaction}
"""Which function reads the jobs of a stack; all others are flare jobs."""
_OTHER_WORK = ("actions", "assertions", "profile")


def read_job(node: MapNode, given: dag.DagNode | None, findings: Findings) -> Job | None:
    """The job of a DAG node with canonical keys; None if too little of it can be read."""
    spec_node = node.get("spec")
    if spec_node is None:
        findings.error("missing-field", "`spec` is missing", node.where, "add `spec:` or `file:` to the job")
        return None
    spec, found = parse(dag.Spec, spec_node, node.key_where("spec"))
    findings.extend(found)
    if not isinstance(spec_node, MapNode):
        return None
    check_spec(spec_node, findings)
    family = check_stack(spec_node, findings)
    if family is None:
        return None
    if "stackSpec" not in spec_node.entries:
        where = node.key_where("spec")
        findings.error("missing-field", "`stackSpec` is missing in `spec`", where, "add `stackSpec:` to `spec`")
        return None
    job = _job(node, given, spec, spec_node) if given and spec else None
    return _READERS.get(family, _flare)(job, spec_node, findings)


def retry_of(given: dag.Retry | None) -> Retry:
    """The canonical retry settings of a job."""
    if given is None:
        return Retry()
    return Retry(given.count, given.strategy, given.duration or 0.0, given.max_duration)


def _job(node: MapNode, given: dag.DagNode, spec: dag.Spec, spec_node: MapNode) -> Job:
    compute = spec_node.get("compute")
    return Job(
        name=given.name,
        where=node.where,
        stack=spec.stack,
        compute=spec.compute,
        compute_where=compute.where if compute else None,
        title=given.title or spec.title,
        description=given.description or spec.description,
        tags=tuple(dict.fromkeys((*(given.tags or ()), *(spec.tags or ())))),
        retry=retry_of(given.retry),
        log_level=spec.log_level or "INFO",
        envs=dict(spec.envs or {}),
    )


def _flare(job: Job | None, spec_node: MapNode, findings: Findings) -> Job | None:
    stack = spec_node.entries["stackSpec"].node
    given, found = parse(grammar.FlareSpec, stack, spec_node.key_where("stackSpec"))
    findings.extend(found)
    body = stack.get("job") if isinstance(stack, MapNode) else None
    if not isinstance(stack, MapNode) or not isinstance(body, MapNode):
        return None
    check_job(body, findings)
    inputs, steps = read_inputs(body, findings), read_steps(body, findings)
    views = read_views(body, steps, findings)
    outputs = read_outputs(body, views, findings)
    streaming = read_streaming(body, findings)
    taken = [output.name for output in outputs]
    actions = read_actions(body, [name for name, _ in views.inputs], taken, findings)
    if not any(key in body.entries for key in ("outputs", *_OTHER_WORK)):
        findings.warning("no-outputs", "the job writes nothing", stack.key_where("job"), "add `outputs:`")
    if job is None or given is None:
        return None
    if given.job.side_effects:
        _check_not_repeated(job, outputs, body, findings)
    return replace(
        job,
        log_level=given.job.log_level or job.log_level,
        spark_conf=_spark_conf(given, stack, findings),
        explain=bool(given.job.explain),
        preview_rows=given.job.show_preview_lines or 0,
        side_effects=bool(given.job.side_effects),
        names=frozenset(name.lower() for name, _ in (*views.inputs, *views.steps)),
        inputs=inputs,
        steps=steps,
        outputs=outputs,
        streaming=streaming,
        actions=actions,
    )


def _check_not_repeated(job: Job, outputs: Sequence[Output], body: MapNode, findings: Findings) -> None:
    """Report settings that would rerun a job automatically and so repeat its side effects."""
    reruns = [output.name for output in outputs if output.conflict == "rerun"]
    for what in (["`retry`"] if job.retry.count else []) + [f"`conflict: rerun` of output `{name}`" for name in reruns]:
        message = f"a job with side effects is never repeated by itself, so {what} cannot be used"
        findings.error("side-effects-repeated", message, body.key_where("sideEffects"), "remove it, or `sideEffects`")


def _spark_conf(flare: grammar.FlareSpec, stack: MapNode, findings: Findings) -> Mapping[str, str]:
    """All Spark settings of a job; `sparkConf` takes precedence over driver and executor."""
    own = dict(flare.spark_conf or {})
    sized = {**_sized("driver", flare.driver), **_sized("executor", flare.executor)}
    if flare.executor and flare.executor.instances:
        sized["spark.executor.instances"] = str(flare.executor.instances)
    conf = stack.get("sparkConf")
    for key in sized.keys() & own.keys():
        if sized[key] != own[key] and isinstance(conf, MapNode):
            message = f"`{key}` is {own[key]} here and {sized[key]} in driver or executor; the value given here is used"
            findings.warning("given-twice", message, conf.key_where(key))
    return {**sized, **own}


def _sized(role: str, settings: grammar.Driver | None) -> dict[str, str]:
    if settings is None:
        return {}
    found = {
        f"spark.{role}.cores": settings.cores,
        f"spark.{role}.memory": settings.memory,
        f"spark.kubernetes.{role}.limit.cores": settings.core_limit,
    }
    return {key: str(value) for key, value in found.items() if value is not None}
