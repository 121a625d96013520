"""The grammar of a toolbox job: one change of one table (canonical keys only)."""

from __future__ import annotations

from pydantic import Field

from catchment.spec.grammar.base import Part, optional, required
from catchment.spec.grammar.scalars import Timestamp
from catchment.spec.model import ChangeName
from catchment.spec.validation import Text, Whole


class ToolboxAction(Part):
    """A change of a table."""

    name: ChangeName = required("What is done to the table, such as set_version.")
    value: Text | None = optional(
        "set_version: what readers shall see: latest, the name of a metadata file, v4, or the id of a snapshot."
    )
    snapshot: Text | None = optional("rollback, set_snapshot, tag_create, branch_create: the id of a snapshot.")
    timestamp: Timestamp | None = optional("rollback: to what the table was then (RFC 3339).")
    tag: Text | None = optional("tag_create, tag_delete: the name of the tag.")
    branch: Text | None = optional("branch_create, branch_delete, branch_fast_forward: the name of the branch.")
    to: Text | None = optional(
        "branch_fast_forward: the branch that is brought forward, main if left out. column_rename: the new name."
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
