"""The grammar of a workflow file, from its first line down to the jobs of its DAG (canonical keys only)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from catchment.spec.grammar.fields import (
    Catchup,
    Cron,
    DnsName,
    Duration,
    LogLevel,
    Part,
    Timestamp,
    TimeZone,
    optional,
    required,
)
from catchment.spec.grammar.variables import Variables
from catchment.spec.validation import Flag, Text, Whole


class Retry(Part):
    """Retries of a job."""

    count: Whole = Field(default=0, ge=0, description="How many times the job is tried again.")
    strategy: Literal["Always", "OnFailure", "OnError", "OnTransientError"] = Field(
        default="OnFailure",
        description="Which failures are worth another attempt; OnTransientError takes only those that may pass.",
    )
    duration: Duration | None = optional("Pause before the first retry, doubled for each further one: 10s, 5m, 1h.")
    max_duration: Duration | None = optional("No retry starts later than this after the first attempt began.")


class Spec(Part):
    """What a job runs: its stack, and the stack's own settings."""

    stack: Text = required("The stack, with or without a version: flare:7.0, flare, toolbox, compaction.")
    compute: Text | None = optional("The engine that runs the job; without it, one that fits its depots.")
    log_level: LogLevel | None = optional("Log level of the job: DEBUG, INFO, WARN or ERROR.")
    envs: dict[str, Text] | None = optional("Environment variables of the job's engine.")
    stack_spec: Any = optional("Settings of the stack; for flare: driver, executor, sparkConf and job.")
    title: Text | None = optional("A title for people.")
    description: Text | None = optional("What the job is for.")
    tags: list[Text] | None = optional("Tags of the job.")
    configs: dict[str, Any] | None = optional("Configuration files of a cluster job; ignored.")
    secrets: list[Any] | None = optional("Secrets of a cluster; ignored, write ${secret:NAME} where one is needed.")
    dataos_secrets: list[Any] | None = optional(
        "Secrets of a cluster; ignored, write ${secret:NAME} where one is needed."
    )
    dataos_volumes: list[Any] | None = optional("Volumes of a cluster; ignored.")
    temp_volume: Any = optional("Scratch volume of a cluster; ignored.")
    persistent_volume: dict[str, Any] | None = optional("Volume of a cluster; ignored.")
    resources: dict[str, Any] | None = optional("CPU and memory of a cluster; ignored, see driver and executor.")
    dry_run: Flag | None = optional("Deploy without running, on a cluster; ignored.")
    run_as_user: Text | None = optional("User of a cluster; ignored.")
    run_as_api_key: Text | None = optional("API key of a cluster; ignored.")
    topology: list[Any] | None = optional("Lineage declared by hand; ignored.")
    tier: Text | None = optional("Old scheduling hint; ignored.")


class DagNode(Part):
    """One job of the DAG, or another workflow file in its place."""

    name: DnsName = required("Name of the job, unique in the workflow: lower-case letters, digits and -.")
    title: Text | None = optional("A title for people.")
    description: Text | None = optional("What the job is for.")
    tags: list[Text] | None = optional("Tags of the job.")
    spec: Any = optional("What the job runs; either this or file.")
    file: Text | None = optional("Another workflow file whose jobs are included here; relative to this file.")
    dependencies: list[Text] | None = optional("Jobs that must succeed first.")
    retry: Retry | None = optional("Another attempt when the job fails.")
    gc_when_complete: Flag | None = optional("Remove the job from the cluster afterwards; ignored.")


class Schedule(Part):
    """A cron schedule."""

    cron: Cron = required("Cron expression: five fields, or six with seconds first.")
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = Field(
        default="Allow", description="What happens when the previous run is not over: Allow, Forbid or Replace."
    )
    end_on: Timestamp | None = optional("No run starts after this time (RFC 3339), and one in progress is ended.")
    timezone: TimeZone | None = optional("IANA time zone of the cron expression, such as Europe/Berlin; UTC if none.")
    catchup: Catchup = Field(default="none", description="Which missed ticks are run later: none, last or all.")


class WorkflowBlock(Part):
    """Body of a workflow."""

    title: Text | None = optional("A title for people.")
    schedule: Schedule | None = optional("When the workflow runs by itself.")
    dag: list[Any] = Field(min_length=1, description="The jobs; independent ones run in parallel.")


class Resource(Part):
    """A workflow file."""

    name: DnsName = required("Name of the workflow: lower-case letters, digits and -, at most 48 characters.")
    version: Literal["v1", "v1beta1", "v1beta", "v1alpha", "v2alpha"] = required("Version of the dialect: v1.")
    type: Text = required("Kind of the resource: workflow.")
    title: Text | None = optional("A title for people.")
    description: Text | None = optional("What the workflow is for.")
    tags: list[Text] | None = optional("Tags of the workflow.")
    owner: Text | None = optional("Who answers for the workflow.")
    layer: Text | None = optional("Layer of the platform: user or system; ignored.")
    workspace: Text | None = optional("Workspace of the workflow; public where none is given.")
    vars: Variables | None = optional("Variables by name, which `${NAME}` stands for: a default, or type and default.")
    workflow: WorkflowBlock = required("The jobs, and when they run.")
