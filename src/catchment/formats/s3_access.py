"""Keys and addresses of S3 stores, from the settings of the clients that engines use. No Spark here.

A setting that is not known to be harmless may change how a client reads, so only an engine can answer then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catchment.formats.metadata_reading import Access, NeedsEngine

HADOOP = "spark.hadoop.fs.s3a."
ANY_REGION = "us-east-1"
"""The region for stores that are not Amazon's."""
_HADOOP_KEYS = {
    "access.key": "key",
    "secret.key": "secret",
    "session.token": "token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
    "path.style.access": "path_style",
    "connection.ssl.enabled": "ssl",
}
_HADOOP_HARMLESS = (
    *("retry.", "attempts.", "connection.", "threads.", "multipart.", "fast.upload", "performance.", "committer."),
    *("multiobjectdelete.", "directory.marker.", "list.version", "paging.", "change.detection.", "impl"),
)
_PROVIDER = "aws.credentials.provider"
_OF_SETTINGS = tuple(f"org.apache.hadoop.fs.s3a.{kind}AWSCredentialsProvider" for kind in ("Simple", "Temporary"))
"""Providers that take the keys from the settings."""
_ICEBERG_KEYS = {
    "s3.access-key-id": "key",
    "s3.secret-access-key": "secret",
    "s3.session-token": "token",
    "s3.endpoint": "endpoint",
    "client.region": "region",
    "s3.path-style-access": "path_style",
}
_ICEBERG_HARMLESS = ("s3.retry.", "s3.multipart.", "s3.write.", "s3.delete", "s3.staging-dir", "s3.checksum-enabled")
_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}


@dataclass(frozen=True)
class S3Access:
    """How to reach one bucket."""

    key: str
    secret: str
    region: str
    token: str | None = None
    endpoint: str | None = None
    """With its scheme; None for Amazon's own."""
    path_style: bool = False


def of_hadoop(bucket: str, access: Access) -> S3Access:
    """The access of Hadoop's S3 client (`s3a://`) to a bucket; settings of the bucket take precedence."""
    if "HADOOP_CONF_DIR" in access.environment:
        raise NeedsEngine("Hadoop's own configuration (HADOOP_CONF_DIR) may have settings of S3")
    given = access.below(HADOOP)
    own = {key: value for key, value in given.items() if not key.startswith("bucket.")}
    of_bucket = f"bucket.{bucket}."
    own |= {key.removeprefix(of_bucket): value for key, value in given.items() if key.startswith(of_bucket)}
    if own.get(_PROVIDER) in _OF_SETTINGS:
        del own[_PROVIDER]
    return _access(_known(own, _HADOOP_KEYS, _HADOOP_HARMLESS, HADOOP), access.environment)


def of_iceberg(properties: Mapping[str, str], environment: Mapping[str, str]) -> S3Access:
    """The access of Iceberg's own S3 client (`s3://`), from the properties of a catalog or table."""
    own = {key: value for key, value in properties.items() if key.startswith(("s3.", "client."))}
    if own.get("s3.remote-signing-enabled") == "false":
        del own["s3.remote-signing-enabled"]
    return _access(_known(own, _ICEBERG_KEYS, _ICEBERG_HARMLESS), environment)


def _known(
    given: Mapping[str, str], names: Mapping[str, str], harmless: tuple[str, ...], prefix: str = ""
) -> dict[str, str]:
    strange = next((key for key in given if key not in names and not key.startswith(harmless)), None)
    if strange is not None:
        raise NeedsEngine(f"{prefix}{strange} is set")
    return {names[key]: value for key, value in given.items() if key in names and value}


def _access(given: Mapping[str, str], environment: Mapping[str, str]) -> S3Access:
    if "key" not in given:
        of_variables = {ours: environment[name] for name, ours in _ENVIRONMENT.items() if name in environment}
        given = {**given, **of_variables}
    if "key" not in given or "secret" not in given:
        raise NeedsEngine("the settings of the depot have no keys of S3")
    endpoint, ssl = given.get("endpoint"), given.get("ssl", "true").lower() == "true"
    if endpoint and "://" not in endpoint:
        endpoint = f"{'https' if ssl else 'http'}://{endpoint}"
    region = given.get("region") or (ANY_REGION if endpoint else None)
    if region is None:
        raise NeedsEngine("the settings of the depot have no region of S3")
    path_style = given.get("path_style", "false").lower() == "true"
    return S3Access(given["key"], given["secret"], region, given.get("token"), endpoint, path_style)
