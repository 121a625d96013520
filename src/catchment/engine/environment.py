"""The environment that an engine's process runs in, and what the engine finds there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Installed:
    """Everything an engine needs, in place."""

    jars: tuple[str, ...] = ()
    python_path: tuple[str, ...] = ()
    """Goes in front of PYTHONPATH."""
    spark_home: str | None = None
    java_options: tuple[str, ...] = ()


OF_ANOTHER_SPARK = frozenset(
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
"""Settings in the user's shell that would steer the engine's Spark towards another one."""


def environment(
    spark_home: str | None, python_path: Sequence[str], envs: Mapping[str, str], scratch: str
) -> dict[str, str]:
    """Our own environment, with the engine's Spark in front and its temporary files in the scratch directory."""
    variables = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_SPARK}
    variables.update(envs)
    variables["TMPDIR"] = scratch
    if spark_home:
        variables["SPARK_HOME"] = spark_home
    path = (*python_path, variables.get("PYTHONPATH", ""))
    variables["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    return variables
