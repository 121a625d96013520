"""The grammar of `catchment.yaml` as pydantic models, from which its JSON Schema is generated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError

from catchment.formats.registry import PLANNED, all_traits, depot_kinds, supporting
from catchment.project.address import DEPOT_NAME
from catchment.project.model import Hook, HookEvent, Project, Residency, Settings, Thresholds
from catchment.project.sizes import parse_size
from catchment.project.spark_versions import SPARK_LINES
from catchment.spec.grammar.durations import Duration
from catchment.spec.grammar.variables import Variable, Variables
from catchment.spec.validation import Text, Whole

ENGINE_NAME = "[A-Za-z0-9][A-Za-z0-9_-]*"

_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*\d+)?\])?|yarn|(spark|k8s)://\S+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
_COORDINATE = re.compile(r"[\w.-]+(:[\w.-]+){2,3}")


def _nothing_as_empty(value: object) -> object:
    """Treat a section without entries, which may be commented out, as empty."""
    return {} if value is None else value


def _depot_kind(value: object) -> object:
    if value in PLANNED:
        raise PydanticCustomError(
            "unsupported-depot-kind",
            "not supported yet: depots of kind `{kind}`",
            {"kind": value, "hint": f"use one of {', '.join(depot_kinds())}"},
        )
    return value


def _spark_line(value: str) -> str:
    if value not in SPARK_LINES:
        raise PydanticCustomError(
            "unsupported-spark",
            "not supported yet: Spark `{line}`",
            {"line": value, "hint": f"use one of {', '.join(SPARK_LINES)}"},
        )
    return value


def _master(value: str) -> str:
    if not _MASTER.fullmatch(value):
        hint = "use local[*], local[4], spark://host:7077, yarn or k8s://…"
        raise PydanticCustomError("bad-master", "`{master}` is not a Spark master", {"master": value, "hint": hint})
    return value


def _coordinate(value: str) -> str:
    if not _COORDINATE.fullmatch(value):
        raise PydanticCustomError(
            "bad-package",
            "`{package}` is not a Maven coordinate",
            {"package": value, "hint": "write group:artifact:version"},
        )
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        hint = "write a name such as AWS_PROFILE, or AWS_* for all names that begin so"
        raise PydanticCustomError(
            "bad-variable", "`{variable}` names no environment variable", {"variable": value, "hint": hint}
        )
    return value


if TYPE_CHECKING:
    Kind: TypeAlias = str
    CatalogType: TypeAlias = str
else:  # pydantic refuses other values, and the JSON Schema lists these
    Kind = Literal[depot_kinds()]
    CatalogType = Literal[tuple(dict.fromkeys(kind for traits in all_traits() for kind in traits.catalogs))]
_KINDS = "; ".join(
    f"{traits.name} for {'tables' if traits.is_table else ', '.join(traits.formats)}" for traits in all_traits()
)
_CATALOGS = "; ".join(
    f"kind {traits.name} with type {', '.join(traits.catalogs)}" for traits in all_traits() if traits.catalogs
)


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class CatalogEntry(_Entry):
    """The catalog that knows the tables of a depot."""

    type: CatalogType = Field(
        "jdbc", description="jdbc (an SQLite file unless a uri is given), rest, hive, or hadoop (one writer only)."
    )
    uri: Text | None = Field(None, description="Address of the catalog: jdbc:…, https://… (rest), thrift://… (hive).")
    properties: Annotated[dict[str, Text], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict, description="Further properties of the catalog, such as user or credential."
    )


class DepotEntry(_Entry):
    """A named place in the lake."""

    kind: Annotated[Kind, BeforeValidator(_depot_kind)] = Field(description=_KINDS)
    location: Text | None = Field(
        None,
        description="A path relative to this file, or a URI such as s3a://bucket/path. "
        "Of a rest catalog it is the name of the warehouse and may be left out. "
        f"Of kind {supporting('servers')} it is the servers: host:9092,host:9092.",
    )
    catalog: CatalogEntry | None = Field(None, description=f"The catalog that knows the tables: {_CATALOGS}.")
    conf: Annotated[dict[str, Text], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="Spark and Hadoop settings needed to reach the store, such as fs.s3a keys. "
        f"Of kind {supporting('servers')} they are settings of the connections, such as security.protocol.",
    )
    publish: Text | None = Field(
        None,
        description=f"Kind {supporting('publishes_with')} with a jdbc catalog only: name of a second catalog in the "
        "same database. "
        "Its readers see the versions that were published, until others are.",
    )


class EngineEntry(_Entry):
    """A Spark application that runs jobs."""

    spark: Annotated[Text, AfterValidator(_spark_line)] = Field(
        SPARK_LINES[0],
        description="The line of Spark versions.",
        json_schema_extra={"enum": [*SPARK_LINES, *map(float, SPARK_LINES)]},
    )
    master: Annotated[Text, AfterValidator(_master)] = Field(
        "local[*]", description="Where Spark runs: local[*], local[4], spark://host:7077, yarn or k8s://…"
    )
    isolation: Literal["shared", "process"] = Field(
        "shared", description="shared: jobs of a run share one process; process: each job has one of its own."
    )
    conf: Annotated[dict[str, Text], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict, description="Spark settings of the application, such as spark.driver.memory."
    )
    packages: list[Annotated[Text, AfterValidator(_coordinate)]] = Field(
        default_factory=list, description="Maven coordinates beyond those the depots need: group:artifact:version."
    )
    spark_home: Text | None = Field(None, description="A Spark installation on this machine to use instead.")


class SettingsEntry(_Entry):
    """Settings of the whole project."""

    max_pending: Whole = Field(
        Settings.max_pending,
        ge=1,
        description="Sealed writes of one table that may wait to be published; beyond it, writers wait.",
    )
    keep_days: Whole = Field(
        Settings.keep_days,
        ge=1,
        description="Days for which the metastore keeps finished writes, windows and events.",
    )
    linger: Duration = Field(
        Settings.linger,
        description="How long a sealed write waits for other jobs of its run that write the same table, so that one "
        "commit publishes all of them: 5s, 1m. Outputs may set their own.",
    )
    pass_environment: list[Annotated[Text, AfterValidator(_variable)]] = Field(
        default_factory=list,
        description="Environment variables that engines get beyond those that Java, Spark and Catchment need: names "
        "such as AWS_PROFILE, or AWS_* for all that begin so.",
    )


def _size(value: object) -> object:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    try:
        size = parse_size(text)
    except ValueError:
        hint = "write a number of bytes, or 16MB"
        raise PydanticCustomError("bad-value", "`{size}` is no size", {"size": value, "hint": hint}) from None
    if size == 0:
        raise PydanticCustomError(
            "threshold-never-met",
            "no file is smaller than {size}, so that none would ever count as small",
            {"size": value, "hint": "write a size above zero, or leave it out"},
        )
    return size


class MaintainEntry(_Entry):
    """When the tables of a depot, or one table, need a compaction, and how long snapshots are kept."""

    small_files: Whole = Field(
        Thresholds.small_files, ge=2, description="Compact a partition that has so many small files."
    )
    small_file_size: Annotated[int | None, BeforeValidator(_size)] = Field(
        None,
        description="Smaller files count as small: 16MB. Without it, an eighth of the size that the table aims at.",
        json_schema_extra={"type": ["string", "integer"]},
    )
    delete_files: Whole = Field(
        Thresholds.delete_files,
        ge=1,
        description="Compact a partition that has so many files of deletes, or data files with deleted rows.",
    )
    level0_files: Whole = Field(
        Thresholds.level0_files,
        ge=1,
        description="Compact a partition that has so many files which readers have to merge by key.",
    )
    age: Duration = Field(
        Thresholds.age,
        description="Compact a partition with anything to merge if nothing was added to it for so long: 1h.",
    )
    quiet: Duration = Field(
        Thresholds.quiet,
        description="Leave a partition alone for so long after a commit, unless it has four times a limit: 60s.",
    )
    retention: Duration | None = Field(
        None,
        description="Expire snapshots that are older, unless somebody needs them: 7d. Without it, only those of "
        "tables whose writers leave that to the compaction, after the time that their format keeps them.",
    )


class NotifyEntry(_Entry):
    """A command or a webhook that is told what happens."""

    webhook: Text | None = Field(
        None, description="An http or https address that gets the message as JSON, as ${secret:NAME} or ${file:PATH}."
    )
    command: list[Text] | None = Field(
        None,
        min_length=1,
        description="A program and its arguments, run in the project's directory; it gets the message as JSON on "
        "standard input.",
    )
    on: list[HookEvent] = Field(
        default=list(Hook.on),
        description="What it is told of: run-failed, run-late, service-dead. `run --notify NAME` tells it of more.",
    )
    late_after: Duration | None = Field(
        None, description="With run-late: a run is late if it has not ended so long after it was due, or began: 30m."
    )


def _names(pattern: str) -> dict[str, Any]:
    return {"propertyNames": {"pattern": f"^{pattern}$"}}


class EnvironmentEntry(_Entry):
    """What is different in an environment: its entries take the place of those of the same name outside."""

    metastore: Text | None = Field(
        None, description="The environment's own database; without it, an SQLite file of its own."
    )
    engines: Annotated[dict[str, EngineEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict, description="Engines by name.", json_schema_extra=_names(ENGINE_NAME)
    )
    depots: Annotated[dict[str, DepotEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict, description="Depots by name.", json_schema_extra=_names(DEPOT_NAME)
    )
    notify: Annotated[dict[str, NotifyEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict, description="Who is told what happens, by name.", json_schema_extra=_names(ENGINE_NAME)
    )
    vars: Annotated[dict[str, Text], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict, description="Values of variables that `vars` of the project declares."
    )


class ProjectFile(_Entry):
    """A Catchment project: where the lake is and which engines work on it."""

    metastore: Text | None = Field(
        None,
        description="Catchment's own database: sqlite:///PATH (relative to this file), for engines on one machine, "
        "or postgresql://user:password@host/database.",
    )
    include_paths: list[Text] = Field(
        default_factory=list,
        description="Directories outside the project (relative to this file) from which workflows may include files.",
    )
    settings: Annotated[SettingsEntry, BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=lambda: SettingsEntry.model_validate({}),
        description="Limits that hold for all engines and all tables.",
    )
    engines: Annotated[dict[str, EngineEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="Engines by name; `default` exists without being named here.",
        json_schema_extra=_names(ENGINE_NAME),
    )
    resident: Residency = Field(
        Project.resident,
        description="Whether commands leave their engines behind for the next ones: always, never, or auto: those on "
        "a terminal do, for ten idle minutes. With never, none is used either.",
    )
    vars: Annotated[Variables, BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="Variables by name, which `${NAME}` stands for in this file and in workflows: a default, or type "
        "and default.",
    )
    environments: Annotated[dict[str, EnvironmentEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="Environments by name, chosen with --env: their own depots, engines, metastore and variables.",
        json_schema_extra=_names(ENGINE_NAME),
    )
    notify: Annotated[dict[str, NotifyEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="Who is told of failed and late runs and of dead services, by name.",
        json_schema_extra=_names(ENGINE_NAME),
    )
    maintain: Annotated[dict[str, MaintainEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="How tables are looked after, by the name of a depot or the address of a table.",
    )
    depots: Annotated[dict[str, DepotEntry], BeforeValidator(_nothing_as_empty)] = Field(
        default_factory=dict,
        description="Depots by name, as addresses use it: dataos://NAME:collection/dataset.",
        json_schema_extra=_names(DEPOT_NAME),
    )


def project_schema() -> dict[str, Any]:
    """The JSON Schema of `catchment.yaml`."""
    from catchment.spec.json_schema import tidy  # imports the grammar of workflows, which is slow

    models: list[type[BaseModel]] = [ProjectFile, Variable]
    _, whole = models_json_schema([(each, "validation") for each in models], ref_template="#/definitions/{model}")
    parts = whole["$defs"]
    root = parts.pop("ProjectFile")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **tidy(root),
        "title": "Catchment project",
        "definitions": {name: tidy(part) for name, part in sorted(parts.items())},
    }
