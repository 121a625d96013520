"""The grammar of a toolbox job: one change of one table (canonical keys only)."""

from __future__ import annotations

from catchment.spec.grammar.base import Part, optional, required
from catchment.spec.model import ChangeName
from catchment.spec.validation import Text


class ToolboxAction(Part):
    """A change of a table."""

    name: ChangeName = required("What is done to the table, such as set_version.")
    value: Text | None = optional(
        "set_version: what readers shall see: latest, the name of a metadata file, v4, or the id of a snapshot."
    )
    branch: Text | None = optional("branch_fast_forward: the branch whose commits come along.")
    to: Text | None = optional("branch_fast_forward: the branch that is brought forward; main if left out.")


class ToolboxSpec(Part):
    """Settings of the toolbox stack: one action on one dataset."""

    dataset: Text = required("Address of the dataset: dataos://depot:collection/dataset?acl=rw.")
    action: ToolboxAction = required("What to do with the dataset.")
