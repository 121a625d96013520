"""The JSON Schema of `catchment.yaml`, in draft-07 keywords, so that editors complete and explain."""

from __future__ import annotations

from typing import Any

from catchment.project.grammar import ProjectFile


def project_schema() -> dict[str, Any]:
    """The schema of a project file."""
    schema = _draft_07(ProjectFile.model_json_schema())
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def _draft_07(part: Any) -> Any:
    """pydantic writes 2020-12; of its keywords only `$defs` and its references differ here."""
    if isinstance(part, dict):
        renamed = {("definitions" if key == "$defs" else key): _draft_07(value) for key, value in part.items()}
        # Draft-07 ignores what stands beside a `$ref`, descriptions included.
        if "$ref" in renamed and len(renamed) > 1:
            reference = str(renamed.pop("$ref")).replace("/$defs/", "/definitions/")
            return {"allOf": [{"$ref": reference}], **renamed}
        return renamed
    if isinstance(part, list):
        return [_draft_07(item) for item in part]
    return part.replace("#/$defs/", "#/definitions/") if isinstance(part, str) else part
