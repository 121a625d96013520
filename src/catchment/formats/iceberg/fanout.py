"""How many files a task of Spark's Iceberg writer fills at once."""

from __future__ import annotations

from collections.abc import Mapping

OPTION = "fanout-enabled"
PROPERTY = "write.spark.fanout.enabled"
ORDERING = "use-table-distribution-and-ordering"
OTHER_SPEC = "output-spec-id"


def sparing(
    options: Mapping[str, str], properties: Mapping[str, str], *, clustered: bool, sortable: bool
) -> dict[str, str]:
    """Options with which a task fills one file after the other, unless they or the table's properties say otherwise.

    Left alone, the writer keeps a file open for each partition: thousands of them are more than an engine has memory
    for. `clustered` says that the rows come by partition; where they do not, Spark sorts them for the writer.
    `sortable` says that a sort brings the rows of each partition together.
    """
    given = {name.lower(): value for name, value in options.items()}  # Spark minds no case here
    # Rows that nobody sorts, or not by the partitions that they go to, can only be written into many files at once.
    unsorted = OTHER_SPEC in given or (given.get(ORDERING, "true").lower() == "false" and not clustered)
    if OPTION in given or PROPERTY in properties or unsorted or not sortable:
        return dict(options)
    return {**options, OPTION: "false"}
