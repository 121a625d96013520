"""Inputs and steps: from the grammar to the canonical model, with the position of every line of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.grammar import job as grammar
from catchment.spec.model import Input, Step
from catchment.spec.reading.incremental import read_commits, read_incremental
from catchment.spec.reading.unsupported import is_supported
from catchment.spec.source_positions import source_lines, start_of_text
from catchment.spec.tree import MapNode, Node, ScalarNode, follow, items
from catchment.spec.validation import parse


def read_inputs(job: MapNode, findings: Findings) -> tuple[Input, ...]:
    """Every input of a job that can be read."""
    found = (_input(item, findings) for item in items(job.get("inputs")))
    return tuple(one for one in found if one)


def _input(node: Node, findings: Findings) -> Input | None:
    given, found = parse(grammar.Input, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode):
        return None
    if given.dataset is None:
        if given.query is None and is_supported(given.format):
            findings.error("missing-field", "`dataset` is missing", node.where, "add `dataset:` to the input")
        return None
    return Input(
        name=given.name,
        dataset=given.dataset,
        where=node.where,
        dataset_where=follow(node, ["dataset"]).node.where,
        format=given.format.lower() if given.format else None,
        options=dict(given.options or {}),
        places=_places(node, given.options or {}),
        bad_rows=given.bad_rows,
        quarantine=_quarantine(given, node, findings),
        schema=given.schema_string,
        schema_path=_schema_path(given, node, findings),
        schema_type=_schema_type(given, node, findings),
        incremental=read_incremental(given.incremental, node, findings),
        commits=read_commits(given.incremental, node, findings),
        is_stream=given.is_stream,
    )


def _places(node: MapNode, options: Iterable[str]) -> dict[str, Position]:
    addresses = {name: follow(node, [name]).node.where for name in ("quarantine", "schemaPath")}
    keys = [["badRows"], ["isStream"], *(["options", name] for name in options)]
    return {**addresses, **{path[-1]: follow(node, path).key_where for path in keys}}


def _quarantine(given: grammar.Input, node: MapNode, findings: Findings) -> str | None:
    """The address of the dataset for bad rows."""
    if given.bad_rows == "quarantine" and given.quarantine is None:
        where, hint = node.key_where("badRows"), "add `quarantine:` with the address of a dataset for the bad rows"
        findings.error("missing-field", "`quarantine` is missing", where, hint)
    if given.bad_rows != "quarantine" and given.quarantine is not None:
        where, hint = node.key_where("quarantine"), "add `badRows: quarantine`, or remove the address"
        findings.error("misplaced-key", "`quarantine` has an effect only with `badRows: quarantine`", where, hint)
    return given.quarantine


def _schema_path(given: grammar.Input, node: MapNode, findings: Findings) -> str | None:
    """The address of a schema; a schema in a local file has been inlined already."""
    if given.schema_path is not None and given.schema_string is not None:
        message, where = "`schemaPath` and `schemaString` mean the same", node.key_where("schemaPath")
        findings.error("given-twice", message, where, "keep one of them")
    return given.schema_path


def _schema_type(given: grammar.Input, node: MapNode, findings: Findings) -> Literal["avro", "spark"]:
    """The dialect's default is avro; `sparkJson` is another name for spark."""
    name, at = (given.schema_type or "avro").lower(), follow(node, ["schemaType"])
    has_schema = given.schema_string is not None or given.schema_path is not None
    if name not in ("avro", "spark", "sparkjson"):
        message = f"there is no schemaType `{given.schema_type}`"
        findings.error("bad-value", message, at.node.where, "use `avro` or `spark`")
    elif not has_schema and given.schema_type is not None:
        findings.warning("ignored-key", "`schemaType` has no effect without a schema", at.key_where, "remove it")
    return "avro" if name == "avro" and has_schema else "spark"


def read_steps(job: MapNode, findings: Findings) -> tuple[Step, ...]:
    """Every step of a job that can be read, in the order in which they run."""
    return tuple(step for group in items(job.get("steps")) for step in _sequence(group, findings))


def _sequence(group: Node, findings: Findings) -> Iterator[Step]:
    findings.extend(parse(grammar.Sequence, group)[1])
    if isinstance(group, MapNode):
        found = (_step(item, findings) for item in items(group.get("sequence")))
        yield from (step for step in found if step)


def _step(node: Node, findings: Findings) -> Step | None:
    given, found = parse(grammar.StepItem, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode):
        return None
    sql = node.get("sql")
    if given.sql is not None and isinstance(sql, ScalarNode):
        return Step(given.name, given.sql, node.where, start_of_text(sql), source_lines(sql))
    if given.classpath is None:
        hint = "add `sql:` or `sqlFile:` to the step"
        findings.error("missing-field", f"`sql` is missing in step `{given.name}`", node.where, hint)
    return None
