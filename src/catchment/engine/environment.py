"""The environment variables of an engine's process, and what was installed for it.

An engine runs other people's code: SQL, and whatever is on its class path. It gets the variables that Java, Spark and
Catchment need, and those that the project passes on; the rest of the user's environment is none of its business.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


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


PASSED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG", "LANGUAGE", "LC_*", "XDG_*"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "KRB5*", "KUBERNETES_*", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX"),
    *("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"),
    *("SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*", "HIVE_*", "PYTHON*"),
    *("PG*", "CATCHMENT_*"),  # engines open the metastore as this process does
)
"""The variables that every engine gets; `*` at the end stands for any rest of a name."""


def environment(
    spark_home: str | None,
    python_path: Sequence[str],
    envs: Mapping[str, str],
    scratch: str,
    passed: Iterable[str] = (),
) -> dict[str, str]:
    """The variables of an engine: what it needs of this process's environment, and then its own.

    `passed` names further variables of this process. The engine's Spark comes first on the Python path, and temporary
    files go to the scratch directory.
    """
    variables = {**passed_variables(passed), **envs}
    variables["TMPDIR"] = scratch
    if spark_home:
        variables["SPARK_HOME"] = spark_home
    path = (*python_path, *variables.get("PYTHONPATH", "").split(os.pathsep))
    # The engine works in another directory than this process.
    variables["PYTHONPATH"] = os.pathsep.join(str(Path(part).absolute()) for part in path if part)
    return {**variables, **_utf_8(variables)}


def passed_variables(passed: Iterable[str] = ()) -> dict[str, str]:
    """The variables of this process that engines get; `passed` names further ones."""
    return {name: value for name, value in os.environ.items() if _is_passed(name, passed)}


def _is_passed(name: str, passed: Iterable[str]) -> bool:
    if any(_matches(name, pattern) for pattern in passed):
        return True
    return name not in OTHER_SPARK_VARIABLES and any(_matches(name, pattern) for pattern in PASSED)


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _utf_8(variables: Mapping[str, str]) -> dict[str, str]:
    """A locale in which Java can use every name of a file: in the locale C, `größe=ä` could not be a directory."""
    locale = next((variables[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if variables.get(name)), "C")
    return {} if "utf" in locale.lower() else {"LC_ALL": "C.UTF-8"}
