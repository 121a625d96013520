from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import RequestError
from catchment.project.model import Depot, Engine, Project
from catchment.run import tables
from catchment.spec.model import RewriteManifests


def test_what_a_format_cannot_do_is_refused_before_spark_starts(tmp_path: Path) -> None:
    depot = Depot("events", "delta", str(tmp_path / "events"))
    project = Project(tmp_path, tmp_path / "catchment.yaml", "", {"events": depot}, {"default": Engine("default")})
    with pytest.raises(RequestError) as refused:
        tables.maintain(project, "dataos://events:raw/clicks", RewriteManifests())
    assert refused.value.code == "unsupported-actions"
    assert "to rewrite the manifests of `dataos://events:raw/clicks`, whose format is delta" in refused.value.message
    assert "works on iceberg" in str(refused.value.hint)
