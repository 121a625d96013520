"""The traits of plain files."""

from __future__ import annotations

from catchment.formats.traits import Package, Traits

FORMATS = ("parquet", "json", "csv", "orc", "avro", "text")
"""Parquet is first because it is the default."""

TRAITS = Traits(
    name="files",
    formats=FORMATS,
    is_table=False,
    embedded=True,
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
