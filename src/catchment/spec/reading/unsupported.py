"""Reports, with its position, every feature of the dialect that Catchment does not support yet."""

from __future__ import annotations

from collections.abc import Mapping

from catchment.formats.registry import format_names
from catchment.spec.findings import Findings
from catchment.spec.tree import ListNode, MapNode, Node, ScalarNode, maps, text
from catchment.spec.validation import did_you_mean

FORMATS = format_names()
_OTHER_FORMATS = (
    *("hudi", "xml", "db", "xlsx", "jdbc", "jdbcquery", "snowflake", "redshift", "bigquery"),
    *("kafkaavro", "pulsar", "eventhub", "elasticsearch", "opensearch", "mongodb", "mongo"),
    *("postgres", "postgresql", "mysql", "mssql", "oracle", "fastbase", "rss", "redis", "file"),
)
_LEAVE_OUT = "leave it out to run the rest"
_STACKS = ("flare", "toolbox", "compaction")

_JOB = {
    "assertions": ("unsupported-assertions", "assertions"),
    "profile": ("unsupported-profile", "profile"),
    "udfs": ("unsupported-udfs", "udfs"),
}
_STEP = {
    "functions": ("unsupported-functions", "functions of a step"),
    "commands": ("unsupported-commands", "commands of a step"),
    "classpath": ("unsupported-classpath", "steps written as a class"),
}
_INPUT = {
    "query": ("unsupported-query-input", "a query as input"),
    "schemaSubject": ("unsupported-schema-registry", "a schema registry"),
    "schemaId": ("unsupported-schema-registry", "a schema registry"),
    "connectionProps": ("unsupported-jdbc", "connectionProps"),
}
_OUTPUT = {"assertions": ("unsupported-assertions", "assertions")}
_OUTPUT_OPTIONS = {
    "bigquery": ("unsupported-bigquery", "bigquery"),
    "query": ("unsupported-jdbc", "a query as output"),
}

_IGNORED_IN_SPEC = {
    "secrets": "secrets come from `${secret:NAME}`",
    "dataosSecrets": "secrets come from `${secret:NAME}`",
    "configs": "settings of Spark go to `sparkConf`",
    "runAsApiKey": "credentials belong to the depots of catchment.yaml",
}


def is_supported(format: str | None) -> bool:
    """Whether datasets of this format can be read and written; without a format, the depot decides."""
    return format is None or format.lower() in FORMATS


def check_stack(spec: MapNode, findings: Findings) -> str | None:
    """The family of a job's stack; None if the stack is not supported."""
    stack = spec.get("stack")
    written = text(stack)
    if stack is None or written is None:
        return None
    family = written.split(":")[0]
    if family in _STACKS:
        return family
    hint = did_you_mean(family, _STACKS) or f"supported stacks are {', '.join(_STACKS)}"
    findings.error("unsupported-stack", f"not supported yet: stack {written}", stack.where, hint)
    return None


def check_spec(spec: MapNode, findings: Findings) -> None:
    """Warn about cluster settings that have no effect, if that could be a surprise."""
    for key, hint in _IGNORED_IN_SPEC.items():
        if _is_given(spec.get(key)):
            findings.warning("ignored-key", f"`{key}` has no effect here", spec.key_where(key), hint)
    if text(spec.get("dryRun")) in ("true", "True", "TRUE"):
        hint = "use `catchment plan` to see what would run"
        findings.warning("ignored-key", "`dryRun` has no effect here: the job runs", spec.key_where("dryRun"), hint)


def check_job(job: MapNode, findings: Findings) -> None:
    """Report unsupported features of a flare job, its inputs, steps and outputs."""
    _refuse(job, _JOB, findings)
    if _is_given(job.get("options")):
        hint = "options of a reader or a writer go to the input or output"
        findings.warning("ignored-key", "`options` of a job has no effect here", job.key_where("options"), hint)
    for step in (step for group in maps(job.get("steps")) for step in maps(group.get("sequence"))):
        _refuse(step, _STEP, findings)
    for node in maps(job.get("inputs")):
        _refuse(node, _INPUT, findings)
        _format(node, findings)
    for node in maps(job.get("outputs")):
        _output(node, findings)


def _output(node: MapNode, findings: Findings) -> None:
    _refuse(node, _OUTPUT, findings)
    _format(node, findings)
    if _is_given(node.get("columnTags")):
        findings.warning("ignored-key", "`columnTags` has no effect here", node.key_where("columnTags"))
    options = node.get("options")
    if isinstance(options, MapNode):
        _refuse(options, _OUTPUT_OPTIONS, findings)


def _refuse(node: MapNode, table: Mapping[str, tuple[str, str]], findings: Findings) -> None:
    for key, (code, what) in table.items():
        if _is_given(node.get(key)):
            findings.error(code, f"not supported yet: {what}", node.key_where(key), _LEAVE_OUT)


def _format(node: MapNode, findings: Findings) -> None:
    value = node.get("format")
    written = text(value)
    if value is None or written is None or is_supported(written):
        return
    if written.lower() in _OTHER_FORMATS:
        hint = f"supported formats are {', '.join(FORMATS)}"
        findings.error("unsupported-format", f"not supported yet: format {written}", value.where, hint)
    else:
        hint = did_you_mean(written, FORMATS) or f"supported formats are {', '.join(FORMATS)}"
        findings.error("unknown-format", f"there is no format `{written}`", value.where, hint)


def _is_given(node: Node | None) -> bool:
    if isinstance(node, ScalarNode):
        return node.value is not None
    return bool(node.items if isinstance(node, ListNode) else node and node.entries)
