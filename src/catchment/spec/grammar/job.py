"""The grammar of a flare job: its settings, inputs and steps (canonical keys only)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from catchment.formats.registry import format_names
from catchment.spec.grammar.fields import BadRows, LogLevel, Memory, Part, ViewName, optional, required
from catchment.spec.validation import Flag, Text, Whole


class IncrementalKey(Part):
    """A named value of the window."""

    name: Text = required("Name of the key; $|name| is its value.")
    sql: Text = required("Query that gives the value on the first run.")


class IncrementalState(Part):
    """Which value a key takes over after a successful run."""

    key: Text = required("The key to set for the next run.")
    value: Text = required("The key of this run whose value it takes.")


class Incremental(Part):
    """Read only a window of the dataset, and advance the window after each run."""

    by: Literal["keys", "snapshot"] = Field(
        default="keys", description="What advances: a window over columns (keys), or the table's history (snapshot)."
    )
    since: Text | None = optional("Of `by: snapshot`: where the first run begins, a timestamp.")
    context: ViewName | None = optional("Name of the whole dataset in sql.")
    sql: Text | None = optional("Query that selects the window; $|key| is the value of a key.")
    keys: list[IncrementalKey] = Field(default=[], description="The window's values, evaluated in order.")
    state: list[IncrementalState] = Field(default=[], description="Which keys the next run takes over.")


class Input(Part):
    """A dataset, read into a view."""

    name: ViewName = required("Name of the view that steps read from.")
    dataset: Text | None = optional("Address of the dataset: dataos://depot:collection/dataset?acl=r.")
    query: Text | None = optional("A query in place of a dataset.")
    format: Text | None = optional(f"Format of the dataset: {', '.join(format_names())}.")
    is_stream: Flag | None = optional("Read as a stream: the job runs in batches, each of which has what is new.")
    schema_type: Text | None = optional("How schemaString is written: avro or spark.")
    schema_path: Text | None = optional(
        "File that holds the schema: a path relative to the workflow file, or an address."
    )
    schema_string: Text | None = optional("Schema of the dataset.")
    schema_subject: Text | None = optional("Subject in a schema registry.")
    schema_id: Whole | None = optional("Id in a schema registry.")
    options: dict[str, Text] | None = optional("Options of Spark's reader, such as header or multiLine.")
    bad_rows: BadRows | None = optional("What happens to rows that cannot be parsed: fail (default), drop, quarantine.")
    quarantine: Text | None = optional(
        "Address of the dataset that bad rows are written to with `badRows: quarantine`."
    )
    driver: Text | None = optional("JDBC driver class.")
    connection_props: dict[str, Text] | None = optional("Connection properties of JDBC or MongoDB.")
    incremental: Incremental | None = optional("Read only a window of the dataset.")


class StepItem(Part):
    """One transformation: a query whose result becomes a view."""

    name: ViewName = required("Name of the view that holds the result.")
    doc: Text | None = optional("What the step is for.")
    sql: Text | None = optional("Spark SQL over inputs and earlier steps.")
    sql_file: Text | None = optional("File that holds the SQL, relative to the workflow file.")
    classpath: Text | None = optional("Class that implements the step.")
    functions: list[Any] | None = optional("Functions applied to the result, in order.")
    commands: list[Any] | None = optional("Commands such as persist and unpersist.")


class Sequence(Part):
    """Steps that run one after the other."""

    sequence: list[Any] = required("The steps, in order.")


class FlareJob(Part):
    """Inputs to views, steps of SQL, outputs to datasets."""

    explain: Flag | None = optional("Log the plan of every output before it is written.")
    log_level: LogLevel | None = optional("Log level of the job: DEBUG, INFO, WARN or ERROR.")
    show_preview_lines: Whole | None = Field(default=None, ge=0, description="Log this many rows of every step.")
    side_effects: Flag | None = optional(
        "Steps may change more than their own session, such as INSERT or CALL; the job is never retried by itself."
    )
    inputs: list[Any] | None = optional("Datasets to read.")
    steps: list[Any] | None = optional("Sequences of steps, or files that hold them.")
    outputs: list[Any] | None = optional("Datasets to write.")
    streaming: Any = optional("Settings of a job that reads a stream: trigger, output mode, checkpoint.")
    assertions: list[Any] | None = optional("Checks on the data.")
    actions: list[Any] | None = optional("Maintenance of a table.")
    udfs: dict[str, Any] | None = optional("Functions written in Scala.")
    profile: dict[str, Any] | None = optional("Statistics about a dataset.")
    variables: dict[str, Any] | None = optional("keepSystemColumns; without effect, there are no system columns.")
    rewrite_dataset: dict[str, Any] | None = optional("Old spelling of the rewrite_dataset action.")
    options: dict[str, Any] | None = optional("Options of a query engine; ignored.")


class Driver(Part):
    """Size of the driver."""

    core_limit: Text | None = optional("Limit of CPU on Kubernetes, such as 1000m.")
    cores: Whole | None = Field(default=None, ge=1, description="Cores of the driver.")
    memory: Memory | None = optional("Memory of the driver, such as 1024m or 2g.")


class Executor(Driver):
    """Size and number of executors."""

    core_limit: Text | None = optional("Limit of CPU on Kubernetes, such as 1000m.")
    cores: Whole | None = Field(default=None, ge=1, description="Cores of each executor.")
    memory: Memory | None = optional("Memory of each executor, such as 1024m or 2g.")
    instances: Whole | None = Field(default=None, ge=1, description="Number of executors.")


class FlareSpec(Part):
    """Settings of the flare stack."""

    driver: Driver | None = optional("The driver of the Spark application.")
    executor: Executor | None = optional("The executors of the Spark application.")
    spark_conf: dict[str, Text] | None = optional("Spark settings.")
    configs: dict[str, Any] | None = optional("Configuration of a cluster job; ignored.")
    job: FlareJob = required("Inputs, steps and outputs.")
