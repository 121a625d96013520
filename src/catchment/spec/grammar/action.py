"""The grammar of an action: what a job does to the table of one of its inputs (canonical keys only)."""

from __future__ import annotations

from typing import Any

from catchment.spec.grammar.base import Part, optional, required
from catchment.spec.validation import Text


class Action(Part):
    """Maintenance of a table that the job has as an input."""

    name: Text = required(
        "What is done: delete_from_dataset; not yet: rewrite_dataset, rewrite_manifest, expire_snapshots, "
        "remove_orphans."
    )
    input: Text | None = optional("The input whose table is meant; it needs acl=rw.")
    delete_where: Text | None = optional(
        "delete_from_dataset: which rows go. The table is called target; other inputs and steps may be asked."
    )
    options: dict[str, Any] | None = optional("Settings of the other actions.")
