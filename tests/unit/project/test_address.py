from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.project import address
from catchment.project.address import BadAddress
from catchment.project.model import Address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dataos://lakehouse:raw01/ny_taxi_ts?acl=rw", Address("lakehouse", "raw01", "ny_taxi_ts", "rw")),
        ("lake://lakehouse:raw01/ny_taxi_ts?acl=r", Address("lakehouse", "raw01", "ny_taxi_ts", "r")),
        ("dataos://thirdparty01:none/ny-taxi-data", Address("thirdparty01", None, "ny-taxi-data", None)),
        ("dataos://drop:none/dir/file.json", Address("drop", None, "dir/file.json", None)),
        ("dataos://drop:none/day=2020-01-01/part 1.csv", Address("drop", None, "day=2020-01-01/part 1.csv", None)),
        ("dataos://lakehouse:raw01?acl=rw", Address("lakehouse", "raw01", None, "rw")),
        ("dataos://lakehouse:raw01/", Address("lakehouse", "raw01", None, None)),
        ("dataos://drop:none/dir/sub/?acl=r", Address("drop", None, "dir/sub", "r")),
        ("dataos://lakehouse:raw01/t/", Address("lakehouse", "raw01", "t", None)),
        ("dataos://Lake:Raw/Table", Address("Lake", "Raw", "Table", None)),
    ],
)
def test_addresses_are_taken_apart(text: str, expected: Address) -> None:
    assert address.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad-address"),
        ("ny-taxi-data", "bad-address"),
        ("./dropzone/file.json", "bad-address"),
        ("s3a://bucket/key", "unsupported-location"),
        ("dataos://lakehouse/raw01/t", "bad-address"),
        ("dataos://:raw01/t", "bad-address"),
        ("dataos://9lives:raw01/t", "bad-address"),
        ("dataos://spark_catalog:raw01/t", "bad-address"),
        ("dataos://lakehouse:/t", "bad-address"),
        ("dataos://lakehouse:raw01//t", "bad-address"),
        ("dataos://lakehouse:none//etc/passwd", "bad-address"),
        ("dataos://lakehouse:raw01/t?", "bad-address"),
        ("dataos://lakehouse:raw01/t?branch=x", "bad-address"),
        ("dataos://lakehouse:raw01/t?acl=r&acl=rw", "bad-address"),
        ("dataos://lakehouse:raw01/t?acl=w", "bad-acl"),
        ("dataos://lakehouse:raw01/t?acl=", "bad-acl"),
        ("dataos://drop:none/../secret", "address-escapes-depot"),
        ("dataos://drop:none/a/../../secret", "address-escapes-depot"),
        ("dataos://drop:../secret", "address-escapes-depot"),
        ("dataos://drop:none/.", "address-escapes-depot"),
        ("dataos://drop:none/.. /x", "address-escapes-depot"),
        ("dataos://drop:none/%2e%2e/secret", "address-escapes-depot"),
        ("dataos://drop:none/a%2fb", "address-escapes-depot"),
        ("dataos://drop:none/%252e%252e/secret", "address-escapes-depot"),
        ("dataos://drop:none/..\\secret", "address-escapes-depot"),
        ("dataos://drop:none/C:/secret", "address-escapes-depot"),
        ("dataos://drop:none/{a,b}", "address-escapes-depot"),
        ("dataos://drop:none/*.json", "address-escapes-depot"),
        ("dataos://drop:none/a\x00b", "address-escapes-depot"),
        ("dataos://drop:none/a\nb", "address-escapes-depot"),
        ("dataos://drop:none/\u202eb", "address-escapes-depot"),
        ("dataos://drop:none/.catchment/metastore.db", "address-escapes-depot"),
    ],
)
def test_what_is_no_address_is_refused(text: str, code: str) -> None:
    with pytest.raises(BadAddress) as caught:
        address.parse(text)
    assert caught.value.code == code
    assert caught.value.hint


@given(st.text(alphabet="ab./\\%2eEfF: \x00\t~*", max_size=30))
def test_no_accepted_dataset_climbs(tail: str) -> None:
    try:
        parsed = address.parse(f"dataos://drop:none/{tail}")
    except BadAddress:
        return
    for segment in (parsed.dataset or "x").split("/"):
        assert segment.strip()
        assert not segment.startswith(".")
        assert not set(segment) & set("\\%:*\x00\t")


def test_the_canonical_text_parses_to_the_same_place() -> None:
    for text in ("dataos://drop:none/dir/file.json", "dataos://lakehouse:raw01/t", "dataos://lakehouse:raw01"):
        assert str(address.parse(text)) == text
