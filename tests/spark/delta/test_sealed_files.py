"""Whether files that were sealed for a table still fit it: what may change in between, and what may not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from catchment.formats.delta.log import Head
from catchment.formats.delta.sealed_files import refusal
from catchment.store.writes import Base, Contents, Entry
from tests.ledgers import intent

ID, TEXT = StructField("id", LongType()), StructField("text", StringType())
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


class Snapshot:
    """As much of Delta's snapshot as is asked for."""

    def __init__(self, protocol: Mapping[str, Any]) -> None:
        self._protocol = protocol

    def protocol(self) -> Snapshot:
        return self

    def json(self) -> str:
        return json.dumps({"protocol": self._protocol})


def table(
    *fields: StructField,
    id: str = "uuid",
    partitions: tuple[str, ...] = (),
    properties: Mapping[str, str] | None = None,
    protocol: Mapping[str, Any] | None = None,
) -> Head:
    schema = StructType(list(fields))
    metadata = {
        "id": id,
        "schemaString": schema.json(),
        "partitionColumns": list(partitions),
        "configuration": dict(properties or {}),
    }
    return Head(1, id, schema, partitions, properties or {}, metadata, Snapshot(protocol or PROTOCOL))


def sealed(head: Head) -> Entry:
    described = {"table": {"metaData": head.metadata, "protocol": head.protocol}}
    contents = Contents((described, {"add": {"path": "f.parquet"}}), 1, 1, 1)
    base = Base(head.id, 0, 1, 1)
    begun = intent("r/j/o")
    return Entry(type(begun)(**{**begun.__dict__, "base": base}), "sealed", False, contents, None, None)


def mapped(name: str, physical: str) -> StructField:
    return StructField(name, LongType(), metadata={"delta.columnMapping.physicalName": physical})


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (table(ID), table(ID)),
        (table(ID), table(ID, TEXT)),
        (table(ID), table(StructField("id", LongType(), metadata={"comment": "said"}))),
        (table(ID), table(ID, properties={"delta.appendOnly": "true"})),
        (table(StructField("id", LongType(), nullable=False)), table(ID)),
        (table(mapped("id", "col-1")), table(mapped("renamed", "col-1"))),
    ],
    ids=["same", "new column", "comment", "property", "nullable", "renamed"],
)
def test_what_still_fits(then: Head, now: Head) -> None:
    assert refusal(sealed(then), now) is None


@pytest.mark.parametrize(
    ("then", "now", "code"),
    [
        (table(ID), table(ID, id="another"), "table-replaced"),
        (table(ID), table(StructField("id", StringType())), "schema-changed"),
        (table(ID, TEXT), table(ID), "schema-changed"),
        (table(ID), table(ID, StructField("text", StringType(), nullable=False)), "schema-changed"),
        (table(ID), table(StructField("id", LongType(), nullable=False)), "schema-changed"),
        (table(ID), table(ID, StructField("n", LongType(), metadata={"delta.identity.start": 1})), "schema-changed"),
        (table(ID), table(ID, properties={"delta.constraints.small": "id < 5"}), "schema-changed"),
        (table(ID, TEXT), table(ID, TEXT, partitions=("text",)), "schema-changed"),
        (table(ID), table(ID, protocol={**PROTOCOL, "minWriterVersion": 7}), "schema-changed"),
        (table(mapped("id", "col-1")), table(mapped("id", "col-2")), "schema-changed"),
    ],
    ids=["id", "type", "gone", "required", "not null", "identity", "constraint", "partitions", "protocol", "replaced"],
)
def test_what_does_not_fit_any_more(then: Head, now: Head, code: str) -> None:
    why = refusal(sealed(then), now)
    assert why is not None
    assert why.code == code
