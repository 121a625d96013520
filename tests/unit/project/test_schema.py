from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from catchment.project.grammar import project_schema
from tests.unit.project.test_loading import EXAMPLE


def fields() -> Iterator[tuple[str, Any]]:
    schema = project_schema()
    for name, part in {"project": schema, **schema["definitions"]}.items():
        yield from ((f"{name}.{key}", field) for key, field in part["properties"].items())


def test_the_schema_is_draft_07() -> None:
    Draft7Validator.check_schema(project_schema())
    assert project_schema()["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert "$defs" not in str(project_schema())


def test_every_field_is_described() -> None:
    found = dict(fields())
    assert len(found) >= 15
    assert [name for name, field in found.items() if not field.get("description")] == []


@pytest.mark.parametrize("text", [EXAMPLE, "engines: {a: {spark: 4.1}}", "{}"])
def test_good_files_pass(text: str) -> None:
    Draft7Validator(project_schema()).validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    "text",
    [
        "depot: {}",
        "depots: {a: {}}",
        "depots: {a: {kind: jdbc, location: .}}",
        "depots: {a.b: {kind: files, location: .}}",
        "engines: {default: {spark: '2.4'}}",
    ],
)
def test_bad_files_do_not(text: str) -> None:
    assert not Draft7Validator(project_schema()).is_valid(yaml.safe_load(text))
