"""The traits of plain files."""

from __future__ import annotations

from catchment.errors import JobError
from catchment.formats.files.options import read_options, stream_options, write_options
from catchment.formats.traits import Package, Rule, Traits

FORMATS = ("parquet", "json", "csv", "orc", "avro", "text")
"""Parquet is first because it is the default."""
PARSED = frozenset({"csv", "json"})
"""The formats whose records are parsed from text, so that some of them may be bad rows."""
COMPACTED = frozenset({"parquet", "orc"})
"""The formats whose files can be merged: each file describes its columns, and Spark reads files that differ."""

DAMAGED = ("input-damaged", "replace the file, or remove it; check too that it is of the format of its input")
"""Code and hint for a file that cannot be read."""

TRAITS = Traits(
    name="files",
    formats=FORMATS,
    is_table=False,
    embedded=True,
    read_options=read_options,
    write_options=write_options,
    streams=True,
    stream_options=stream_options,
    bad_rows=PARSED,
    evolving=frozenset({"json"}),
    operations=frozenset({"rewrite_dataset"}),
    maintained=COMPACTED,
    rewrite_options=frozenset({"target-file-size-bytes", "min-file-size-bytes", "min-input-files", "rewrite-all"}),
    suffixes={
        **{f".{name}": name for name in FORMATS},
        ".jsonl": "json",
        ".ndjson": "json",
        ".txt": "text",
    },
    packages={
        "4.1": (Package("org.apache.spark:spark-avro_2.13:4.1.1", alone=True),),
        "3.5": (Package("org.apache.spark:spark-avro_2.12:3.5.7", alone=True),),
    },
    always_installed=True,
    rules=(
        Rule(
            frozenset({"java.lang.IllegalArgumentException"}),
            JobError,
            "header-mismatch",
            "the header of a file is not the expected one",
            "give the schema the columns of the file, in their order; if the files have no header line, give the input "
            'the option `header: "false"`',
            thrown_by="org.apache.spark.sql.catalyst.csv.CSVHeaderChecker",
        ),
    ),
    conditions={
        "MALFORMED_RECORD_IN_PARSING": ("bad-rows", "correct the file, or give the input `badRows: drop`"),
        "FAILED_READ_FILE.NO_HINT": DAMAGED,
        "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER": DAMAGED,
        "CANNOT_READ_FILE_FOOTER": DAMAGED,  # this one and the next are from Spark 3.5
        "_LEGACY_ERROR_TEMP_2064": DAMAGED,
    },
)
