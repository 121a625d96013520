"""The JSON Schema of workflow files, for editors: draft-07 keywords, a description on every field, aliases included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from catchment.spec import aliases
from catchment.spec.grammar.job import FlareJob, FlareSpec, Input, Sequence, StepItem
from catchment.spec.grammar.output import Output
from catchment.spec.grammar.streaming import Streaming
from catchment.spec.grammar.table_actions import (
    Action,
    CompactionSpec,
    ExpireOptions,
    ManifestOptions,
    OrphanOptions,
    RewriteOptions,
    ToolboxSpec,
)
from catchment.spec.grammar.variables import Variable
from catchment.spec.grammar.workflow import DagNode, Resource, Spec

Schema = dict[str, Any]

_MODELS: tuple[type[BaseModel], ...] = (
    *(Resource, DagNode, Spec, FlareSpec, FlareJob, Input, Sequence, StepItem, Output, Action, ToolboxSpec),
    Streaming,
    Variable,
    CompactionSpec,
    *(RewriteOptions, ManifestOptions, ExpireOptions, OrphanOptions),
)
_ITEMS = {
    ("WorkflowBlock", "dag"): "DagNode",
    ("FlareJob", "inputs"): "Input",
    ("FlareJob", "steps"): "Sequence",
    ("FlareJob", "outputs"): "Output",
    ("FlareJob", "actions"): "Action",
    ("Sequence", "sequence"): "StepItem",
}
_ALIASES: Mapping[str, Mapping[str, str]] = {
    "Spec": aliases.SPEC,
    "FlareSpec": aliases.STACK_SPEC,
    "Input": aliases.INPUT,
    "Output": aliases.OUTPUT,
    "OutputOptions": aliases.OUTPUT_OPTIONS,
    "Streaming": aliases.STREAMING,
    "Partition": aliases.PARTITION,
    "ExpireOptions": aliases.ACTION_OPTIONS,
    "OrphanOptions": aliases.ACTION_OPTIONS,
}
_OPTIONS = {
    "rewrite_dataset": "RewriteOptions",
    "rewrite_manifest": "ManifestOptions",
    "expire_snapshots": "ExpireOptions",
    "remove_orphans": "OrphanOptions",
}
"""The options of each action."""
_STACKS = {"flare": "FlareSpec", "toolbox": "ToolboxSpec", "compaction": "CompactionSpec"}
"""The settings of each stack."""
_MISPLACED = (
    *((part, "Output", key) for part in ("OutputOptions", "IcebergOptions") for key in aliases.OF_OUTPUT),
    *(("OutputOptions", "IcebergOptions", key) for key in aliases.OF_ICEBERG),
    ("FlareJob", "FlareSpec", "sparkConf"),
)
"""Where a key is accepted, and the part that it belongs to."""


def workflow_schema() -> Schema:
    """The schema as plain data."""
    _, whole = models_json_schema([(model, "validation") for model in _MODELS], ref_template="#/definitions/{model}")
    parts: dict[str, Schema] = whole["$defs"]
    _connect(parts)
    for part, owner, key in _MISPLACED:
        belongs = parts[owner]["properties"][key]
        parts[part]["properties"][key] = {**belongs, "description": f"Accepted here; {key} belongs to {owner}."}
    for part, names in _ALIASES.items():
        _add_aliases(parts[part], names)
    root = parts.pop("Resource")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **tidy(root),
        "title": "Catchment workflow",
        "definitions": {name: tidy(part) for name, part in sorted(parts.items())},
    }


def _connect(parts: dict[str, Schema]) -> None:
    """Connect the parts, which are validated one by one, and add the forms that aliases allow."""
    for (part, key), item in _ITEMS.items():
        _list_of(parts[part]["properties"][key])["items"] = _ref(item)
    _list_of(parts["FlareJob"]["properties"]["steps"])["items"] = {"anyOf": [_ref("Sequence"), {"type": "string"}]}
    streaming = parts["FlareJob"]["properties"]["streaming"]
    parts["FlareJob"]["properties"]["streaming"] = {**_ref("Streaming"), "description": streaming["description"]}
    parts["Sequence"]["properties"]["sink"] = {"type": "array", "description": "Old spelling of outputs."}
    parts["Sequence"].pop("required")
    for part in ("Input", "Output"):
        parts[part]["properties"]["file"] = {"type": "object", "description": "Old form: path, format and options."}
    node, spec = parts["DagNode"]["properties"], parts["Spec"]["properties"]
    node["spec"] = {**_ref("Spec"), "description": node["spec"]["description"]}
    node["dependencies"]["anyOf"].append({"type": "string"})
    spec["retry"] = {**_ref("Retry"), "description": node["retry"]["description"]}
    parts["Spec"]["allOf"] = [_stack_rule(*each) for each in _STACKS.items()]
    parts["Action"]["allOf"] = [_action_rule(name, part) for name, part in _OPTIONS.items()]
    conf = parts["FlareSpec"]["properties"]["sparkConf"]
    conf["anyOf"].append({"type": "array", "items": conf["anyOf"][0]})


def _stack_rule(stack: str, part: str) -> Schema:
    keys = ("stackSpec", stack)
    return {
        "if": {"properties": {"stack": {"type": "string", "pattern": f"^{stack}(:|$)"}}, "required": ["stack"]},
        "then": {"properties": {key: _ref(part) for key in keys}},
    }


def _action_rule(name: str, part: str) -> Schema:
    return {
        "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
        "then": {"properties": {"options": {"anyOf": [_ref(part), {"type": "null"}]}}},
    }


def _add_aliases(part: Schema, names: Mapping[str, str]) -> None:
    """Let an alias take the same values as its key; a key with aliases is not required under its own name."""
    for alias, canonical in names.items():
        part["properties"][alias] = {**part["properties"][canonical], "description": f"The same as {canonical}."}
    part["required"] = [key for key in part.get("required", ()) if key not in names.values()]


def _list_of(field: Schema) -> Schema:
    return next((choice for choice in field.get("anyOf", ()) if choice.get("type") == "array"), field)


def _ref(part: str) -> Schema:
    return {"$ref": f"#/definitions/{part}"}


def tidy(schema: Any, *, is_field_list: bool = False) -> Any:
    """The part without generated titles and empty defaults, which are of no use to an editor.

    Draft 7 ignores everything beside `$ref`, so a reference with a description goes into `allOf`.
    """
    if isinstance(schema, list):
        return [tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and len(schema) > 1 and not is_field_list:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return tidy({"allOf": [{"$ref": schema["$ref"]}], **rest})
    dropped = () if is_field_list else ("title", *(("default",) if schema.get("default", 0) is None else ()))
    return {
        key: tidy(value, is_field_list=key == "properties" and not is_field_list)
        for key, value in schema.items()
        if key not in dropped and value != []
    }
