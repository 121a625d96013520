"""The JSON Schema agrees with what the reader accepts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from catchment.spec.document import read, read_text
from catchment.spec.json_schema import workflow_schema

WORKFLOWS = Path(__file__).parents[2] / "workflows"
SCHEMA = workflow_schema()
BASE = """\
name: w
version: v1
type: workflow
workflow:
  dag:
    - name: j
"""


def errors(text: str) -> list[str]:
    return [error.message for error in Draft7Validator(SCHEMA).iter_errors(read_text(text, "w.yaml").value)]


def fields() -> Iterator[tuple[str, Any]]:
    for name, part in {"workflow": SCHEMA, **SCHEMA["definitions"]}.items():
        for key, field in part["properties"].items():
            yield f"{name}.{key}", field


def keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
        for value in schema.values():
            yield from keywords(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from keywords(item)


def test_it_is_a_draft_07_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert not {"$defs", "prefixItems", "unevaluatedProperties", "dependentRequired"} & set(keywords(SCHEMA))


def test_every_field_is_described() -> None:
    named = list(fields())
    assert len(named) > 100
    assert [path for path, field in named if not field.get("description")] == []


@pytest.mark.parametrize("name", ["seed-000", "seed-004"])
def test_published_workflows_fit(name: str) -> None:
    document = read(WORKFLOWS / f"{name}.yaml")
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(document.value)] == []


@pytest.mark.parametrize(
    "node",
    [
        "      spec: {stack: flare:7.0, flare: {job: {outputs: [{name: a, depot: x, outputType: json}]}}}",
        "      spec: {stack: flare, stackSpec: {sparkConfig: {a: 1}, job: {inputs: [{name: a, type: json}]}}}",
        "      spec: {stack: flare, stackSpec: {sparkConf: [{a: 1}], job: {steps: [steps.yaml]}}}",
        "      spec: {stack: toolbox, toolbox: {dataset: x, action: {name: set_version, value: latest}}}",
        "      spec: {stack: soda+python:1.0, stackSpec: {anything: goes}}",
        "      dependencies: other\n      spec: {stack: flare, retry: {count: 2, duration: 10s}}",
        "      dependencies: [other]\n      file: other.yaml",
    ],
)
def test_other_spellings_fit(node: str) -> None:
    assert errors(BASE + node + "\n") == []


@pytest.mark.parametrize(
    "node",
    [
        "      specs: {stack: flare}",
        "      spec: {stack: flare, stackSpec: {jobs: {}}}",
        "      spec: {stack: flare, flare: {job: {output: []}}}",
        "      spec: {stack: toolbox, stackSpec: {job: {}}}",
        "      spec: {stack: flare, stackSpec: {job: {outputs: [{name: a, options: {saveMode: upsert}}]}}}",
    ],
)
def test_mistakes_do_not_fit(node: str) -> None:
    assert errors(BASE + node + "\n") != []
