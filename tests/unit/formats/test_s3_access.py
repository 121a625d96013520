"""Which settings of S3 can be used without an engine, and which make it necessary."""

from __future__ import annotations

import pytest

from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.formats.s3_access import HADOOP, S3Access, of_hadoop, of_iceberg

KEYS = {"access.key": "ours", "secret.key": "hidden", "endpoint.region": "eu-central-1"}


def hadoop(settings: dict[str, str], environment: dict[str, str] | None = None) -> S3Access:
    given = {f"{HADOOP}{key}": value for key, value in settings.items()}
    return of_hadoop("bucket", Access(given, environment or {}))


def with_keys(**settings: str) -> S3Access:
    return hadoop({**KEYS, **{key.replace("__", "."): value for key, value in settings.items()}})


def test_keys_and_places_of_hadoop() -> None:
    assert with_keys() == S3Access("ours", "hidden", "eu-central-1")
    local = with_keys(endpoint="127.0.0.1:9000", connection__ssl__enabled="false", path__style__access="true")
    assert (local.endpoint, local.path_style) == ("http://127.0.0.1:9000", True)
    assert with_keys(endpoint="store.example.org").endpoint == "https://store.example.org"


def test_a_provider_that_takes_the_keys_from_the_settings() -> None:
    of_settings = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    assert with_keys(aws__credentials__provider=of_settings) == with_keys()


def test_a_bucket_has_settings_of_its_own() -> None:
    own = with_keys(bucket__bucket__access__key="its own", bucket__other__encryption__key="theirs")
    assert own.key == "its own"


def test_variables_that_engines_get_are_used() -> None:
    passed = {"AWS_ACCESS_KEY_ID": "of the shell", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_SESSION_TOKEN": "for now"}
    found = hadoop({"endpoint.region": "eu-central-1"}, passed)
    assert (found.key, found.token) == ("of the shell", "for now")
    assert hadoop(KEYS, passed) == S3Access("ours", "hidden", "eu-central-1")


@pytest.mark.parametrize(
    "settings",
    [
        {"aws__credentials__provider": "org.example.Mine"},
        {"encryption__algorithm": "SSE-C"},
        {"proxy__host": "proxy.example.org"},
        {"bucket__bucket__requester__pays__enabled": "true"},
    ],
)
def test_a_setting_that_nobody_knows_is_for_an_engine(settings: dict[str, str]) -> None:
    with pytest.raises(NeedsEngine):
        with_keys(**settings)


def test_without_keys_or_a_region_an_engine_has_to_find_them() -> None:
    with pytest.raises(NeedsEngine):
        hadoop({"endpoint.region": "eu-central-1"})
    keys = {"access.key": "ours", "secret.key": "hidden"}
    with pytest.raises(NeedsEngine):
        hadoop(keys)
    assert hadoop({**keys, "endpoint": "http://here:1"}).region == "us-east-1"


def test_hadoops_own_configuration_is_for_an_engine() -> None:
    with pytest.raises(NeedsEngine):
        hadoop(KEYS, {"HADOOP_CONF_DIR": "/etc/hadoop"})


def test_icebergs_own_client() -> None:
    given = {
        "s3.access-key-id": "ours",
        "s3.secret-access-key": "hidden",
        "s3.endpoint": "http://here:1",
        "s3.path-style-access": "true",
        "s3.retry.num-retries": "10",
        "s3.remote-signing-enabled": "false",
        "warehouse": "s3://bucket",
    }
    assert of_iceberg(given, {}) == S3Access("ours", "hidden", "us-east-1", None, "http://here:1", path_style=True)
    for strange in ({"s3.remote-signing-enabled": "true"}, {"s3.sse.type": "custom"}, {"client.factory": "Mine"}):
        with pytest.raises(NeedsEngine):
            of_iceberg({**given, **strange}, {})
