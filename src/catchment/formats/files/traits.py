"""The traits of plain files."""

from __future__ import annotations

from catchment.formats.traits import Package, Traits

FORMATS = ("parquet", "json", "csv", "orc", "avro", "text")
"""Parquet is first because it is the default."""

_OF_EVERY_FORMAT = frozenset({"compression", "maxrecordsperfile", "timezone", "*.*"})
"""Names with a dot are settings of Hadoop, such as `parquet.block.size`."""
_OF_TEXT = frozenset(
    {"encoding", "charset", "linesep", "locale", "dateformat", "timestampformat", "timestampntzformat"}
)
_OF_A_FORMAT = {
    "json": _OF_TEXT | {"ignorenullfields", "pretty", "writenonasciicharacterascodepoint"},
    "csv": _OF_TEXT
    | {
        *("sep", "delimiter", "quote", "quoteall", "escape", "escapequotes", "chartoescapequoteescaping"),
        *("header", "comment", "nullvalue", "emptyvalue", "codec"),
        *("ignoreleadingwhitespace", "ignoretrailingwhitespace"),
    },
    "avro": frozenset({"avroschema", "recordname", "recordnamespace", "positionalfieldmatching"}),
    "text": frozenset({"linesep"}),
}


def write_options(format: str, mode: str, commit: str) -> frozenset[str]:
    """The options of Spark's writer of one format."""
    return _OF_EVERY_FORMAT | _OF_A_FORMAT.get(format, frozenset())


TRAITS = Traits(
    name="files",
    formats=FORMATS,
    is_table=False,
    embedded=True,
    write_options=write_options,
    evolving=frozenset({"json"}),
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
)
