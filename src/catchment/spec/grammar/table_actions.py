"""The grammar of changes to a table: actions of flare jobs, and jobs of the toolbox (canonical keys only)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from catchment.spec.grammar.fields import Moment, Part, Timestamp, optional, required
from catchment.spec.model import ChangeName
from catchment.spec.validation import Flag, Text, Whole

Strategy = Annotated[
    Literal["binpack", "sort"], BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value)
]
Deletes = Annotated[Whole, Field(ge=1)]


class Action(Part):
    """Maintenance of a table that the job has as an input."""

    name: Text = required(
        "What is done: delete_from_dataset, rewrite_dataset, rewrite_manifest, expire_snapshots or remove_orphans."
    )
    input: Text | None = optional(
        "The input whose table is changed; its address needs acl=rw. May be left out if the job has one input."
    )
    delete_where: Text | None = optional(
        "delete_from_dataset: which rows are deleted. The table is called target; inputs and steps may be queried."
    )
    options: dict[str, Any] | None = optional("Settings of the other actions.")


class RewriteOptions(Part):
    """rewrite_dataset: merges small data files into large ones."""

    strategy: Strategy = Field("binpack", description="binpack joins files as they are, sort orders their rows too.")
    sort_order: Text | None = optional("Strategy sort: `col ASC NULLS LAST, …` or zorder(a, b); else the table's own.")
    where: Text | None = optional("Only files that may hold such rows.")
    properties: dict[str, Text] | None = optional(
        "Options of the format's rewrite, such as target-file-size-bytes or rewrite-all."
    )
    partitions: list[dict[str, Text]] | None = Field(
        None, min_length=1, description="Only these partitions, each with a value for every partition column."
    )


class ManifestOptions(Part):
    """rewrite_manifest: merges small manifests, so that queries are planned faster."""

    use_caching: Flag = Field(default=True, description="Whether Spark caches the manifests' entries meanwhile.")


class ExpireOptions(Part):
    """expire_snapshots: removes old snapshots, and the files that only they need."""

    older_than_millis: Whole | None = Field(None, ge=0, description="Older than this moment, in ms since 1970.")
    older_than_timestamp: Moment | None = optional("Older than this moment; without a zone it is UTC.")
    snapshot_ids: list[Whole] | None = Field(None, min_length=1, description="These snapshots, and no others.")
    retain_last: Whole = Field(1, ge=1, description="How many snapshots of every branch are kept in any case.")
    max_concurrent_deletes: Deletes | None = optional("How many files are removed at the same time.")
    stream_delete_results: Flag = Field(default=False, description="Fetch the names of files piece by piece.")


class OrphanOptions(Part):
    """remove_orphans: removes files that no snapshot refers to."""

    older_than_millis: Whole | None = Field(None, ge=0, description="Older than this moment, in ms since 1970.")
    older_than_timestamp: Moment | None = optional("Older than this moment; without a zone it is UTC.")
    location: Text | None = optional("A directory of the table; without one, all of it.")
    dry_run: Flag = Field(default=False, description="Only list the files that would be removed.")
    max_concurrent_deletes: Deletes | None = optional("How many files are removed at the same time.")


class ToolboxAction(Part):
    """A change of a table."""

    name: ChangeName = required("What is done to the table, such as set_version.")
    value: Text | None = optional(
        "set_version: the version that readers see: latest, the name of a metadata file, v4, or the id of a snapshot."
    )
    snapshot: Text | None = optional("rollback, set_snapshot, tag_create, branch_create: the id of a snapshot.")
    timestamp: Timestamp | None = optional("rollback: back to the table as of this time (RFC 3339).")
    tag: Text | None = optional("tag_create, tag_delete: the name of the tag.")
    branch: Text | None = optional("branch_create, branch_delete, branch_fast_forward: the name of the branch.")
    to: Text | None = optional(
        "branch_fast_forward: the branch that is moved forward, main if left out. column_rename: the new name."
    )
    properties: dict[str, Text] | None = optional("properties_set: the properties and their values.")
    names: list[Text] | None = optional("properties_unset: the names of the properties.")
    column: Text | None = optional("The column that is added, dropped, renamed, widened or partitioned by.")
    type: Text | None = optional(
        "column_add, column_widen: the type as in SQL. partition_add, partition_replace: the transform, as in "
        "partitionSpec."
    )
    comment: Text | None = optional("column_add: what the column is for.")
    field: Text | None = optional("partition_drop, partition_replace: the name of the partition field.")
    as_column: Text | None = optional("partition_add, partition_replace: the name of the new partition field.")
    num_buckets: Whole | None = Field(default=None, ge=1, description="Number of buckets; bucket needs it.")
    width: Whole | None = Field(default=None, ge=1, description="Width of the truncation; truncate needs it.")


class ToolboxSpec(Part):
    """Settings of the toolbox stack: one action on one dataset."""

    dataset: Text = required("Address of the dataset: dataos://depot:collection/dataset?acl=rw.")
    action: ToolboxAction = required("What to do with the dataset.")


class CompactionSpec(RewriteOptions):
    """Settings of the compaction stack: the small files of one dataset are merged."""

    dataset: Text = required("Address of the dataset: dataos://depot:collection/dataset?acl=rw.")
    format: Text | None = optional("Format of a dataset of files, unless its name has a suffix.")
