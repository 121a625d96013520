"""The grammar of an output: where a view is written, and how (canonical keys only)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from catchment.formats.registry import format_names
from catchment.spec.grammar.fields import (
    CommitWay,
    Conflict,
    Duration,
    OutputName,
    Part,
    SaveMode,
    SortMode,
    SortOrder,
    Transform,
    optional,
    required,
)
from catchment.spec.validation import Flag, Text, Whole


class Partition(Part):
    """One field of the partition spec."""

    type: Transform = required("Transform: identity, year, month, day, hour, bucket or truncate.")
    column: Text = required("Column that the transform is applied to.")
    name: Text | None = optional("Name of the partition field; it must not be the name of a column.")
    num_buckets: Whole | None = Field(default=None, ge=1, description="Number of buckets; bucket needs it.")
    width: Whole | None = Field(default=None, ge=1, description="Width of the truncation; truncate needs it.")


class SortColumn(Part):
    """One column of the sort order."""

    name: Text = required("Column to sort by.")
    order: SortOrder = Field(default="asc", description="asc or desc.")


class Sort(Part):
    """A sort order."""

    mode: SortMode = required("partition sorts within each partition of the data, global sorts all of it.")
    columns: list[SortColumn] = Field(min_length=1, description="Columns to sort by, most significant first.")


class Merge(Part):
    """Clauses of MERGE INTO; the table is called old or target in them, the view new or source."""

    on_clause: Text = required("Condition that matches rows of the table with rows of the view: old.id = new.id.")
    when_clause: Text = required("What happens then: MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *.")


class IcebergOptions(Part):
    """Options that only Iceberg tables have."""

    properties: dict[str, Text] | None = optional(
        "Table properties; overwrite-mode: dynamic makes overwrite replace only the partitions that the job produced."
    )
    partition_spec: list[Partition] | None = optional("How the table is partitioned, outermost first.")
    merge: Merge | None = optional("Row-level merge into the table.")


class PaimonOptions(Part):
    """Options that only Paimon tables have."""

    primary_key: list[Text] | None = optional("Columns of the primary key: rows of one key become one.")
    partition_by: list[Text] | None = optional("Columns that partition the table.")
    properties: dict[str, Text] | None = optional(
        "Table properties, such as bucket, merge-engine and sequence.field; overwrite-mode: dynamic makes overwrite "
        "replace only the partitions that the job produced."
    )


class ColumnTags(Part):
    """Tags for columns."""

    column_regex: Text | None = optional("Columns whose name matches this expression.")
    column_name: Text | None = optional("One column.")
    column_names: list[Text] | None = optional("Several columns.")
    tags: list[Text] | None = optional("The tags.")


class OutputOptions(Part):
    """Options of an output."""

    save_mode: SaveMode | None = optional("append adds rows; overwrite replaces the table, or see overwrite-mode.")
    extra_options: dict[str, Text] | None = optional("Options of Spark's writer.")
    compression_type: Text | None = optional("Compression of data files: gzip, snappy, zstd, none.")
    sort: Sort | None = optional("Order of the rows before they are written.")
    partition_by: list[Text] | None = optional("Columns that partition a dataset of files.")
    merge_schema: Flag | None = optional("Add new nullable columns to the table.")
    iceberg: IcebergOptions | None = optional("Options of Iceberg tables.")
    paimon: PaimonOptions | None = optional("Options of Paimon tables.")
    bigquery: dict[str, Any] | None = optional("Options of BigQuery.")
    query: Text | None = optional("Parametrised upsert of a JDBC output.")
    driver: Text | None = optional("JDBC driver class.")
    checkpoint_location: Text | None = optional("Checkpoint of a streaming job; the same as in `streaming`.")


class Output(Part):
    """A view, written to a dataset."""

    name: OutputName = required("Name of the step (or input) to write.")
    dataset: Text | None = optional("Address of the dataset: dataos://depot:collection/dataset?acl=rw.")
    format: Text | None = optional(f"Format of the dataset: {', '.join(format_names())}.")
    options: OutputOptions | None = optional("How the view is written.")
    commit: CommitWay | None = optional(
        "How rows get into the table: through a buffer (default), or directly with the format's own commit."
    )
    conflict: Conflict | None = optional(
        "What a dynamic overwrite does when somebody committed to its partitions since the job began."
    )
    linger: Duration | None = optional(
        "How long a sealed write waits for other jobs of the run that write the same table, to share one commit: 5s."
    )
    title: Text | None = optional("A title for people.")
    description: Text | None = optional("What the dataset holds.")
    tags: list[Text] | None = optional("Tags of the dataset.")
    column_tags: list[ColumnTags] | None = optional("Tags for columns; ignored.")
    assertions: list[Any] | None = optional("Checks before the data is written.")
    driver: Text | None = optional("JDBC driver class.")
    checkpoint_location: Text | None = optional("Checkpoint of a streaming job; the same as in `streaming`.")
    is_stream: Flag | None = optional("Write as a stream; implied by an input that is one.")
