"""The environment variables of an engine's process, and what was installed for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Installed:
    """Everything that was installed for an engine."""

    jars: tuple[str, ...] = ()
    python_path: tuple[str, ...] = ()
    """Prepended to PYTHONPATH."""
    spark_home: str | None = None
    java_options: tuple[str, ...] = ()


OTHER_SPARK_VARIABLES = frozenset(
    {
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "SPARK_REMOTE",
        "SPARK_API_MODE",
        "PYSPARK_SUBMIT_ARGS",
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_GATEWAY_SECRET",
    }
)
"""Variables of the user's shell that belong to another Spark installation."""


def environment(
    spark_home: str | None, python_path: Sequence[str], envs: Mapping[str, str], scratch: str
) -> dict[str, str]:
    """This process's environment, with the engine's Spark first and temporary files in the scratch directory."""
    variables = {name: value for name, value in os.environ.items() if name not in OTHER_SPARK_VARIABLES}
    variables.update(envs)
    variables["TMPDIR"] = scratch
    if spark_home:
        variables["SPARK_HOME"] = spark_home
    path = (*python_path, variables.get("PYTHONPATH", ""))
    variables["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    return variables
