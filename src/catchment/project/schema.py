"""The JSON Schema of `catchment.yaml`, in draft-07 keywords, so that editors complete and explain."""

from __future__ import annotations

from typing import Any

from catchment.project.grammar import ProjectFile
from catchment.spec.json_schema import tidy


def project_schema() -> dict[str, Any]:
    """The schema as plain data."""
    root = ProjectFile.model_json_schema(ref_template="#/definitions/{model}")
    parts = root.pop("$defs")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **tidy(root),
        "title": "Catchment project",
        "definitions": {name: tidy(part) for name, part in sorted(parts.items())},
    }
