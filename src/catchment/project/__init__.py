"""The project file `catchment.yaml`: depots, engines, metastore, secrets; and addresses."""

from collections.abc import Mapping
from pathlib import Path

from catchment.project.model import Project


def load(
    start: Path,
    *,
    env: Mapping[str, str] | None = None,
    environment: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Project:
    """The project that a file or directory belongs to; raises `InvalidFiles` with every problem of its file.

    `environment` is one of its environments, `variables` are values for variables.
    """
    # Imported here, so that engines, which need only the model, do not load the YAML parser.
    from catchment.project import loading

    return loading.load(start, env=env, environment=environment, variables=variables)
