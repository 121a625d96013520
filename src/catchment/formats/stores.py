"""The packages that Spark needs to reach remote stores."""

from __future__ import annotations

from collections.abc import Mapping

from catchment.formats.traits import Package

# Hadoop's S3 connector requires an SDK bundle of 640 MB. Iceberg's has 69 MB and lacks only two modules of it.
S3: Mapping[str, tuple[Package, ...]] = {
    "4.1": (
        Package("org.apache.hadoop:hadoop-aws:3.4.2", without=("software.amazon.awssdk:bundle",)),
        Package("org.apache.iceberg:iceberg-aws-bundle:1.12.0"),
        Package("software.amazon.awssdk:s3-transfer-manager:2.29.52", alone=True),
        Package("software.amazon.awssdk:apache-client:2.29.52", alone=True),
    ),
    "3.5": (
        Package("org.apache.hadoop:hadoop-aws:3.3.4"),
        Package("org.apache.iceberg:iceberg-aws-bundle:1.11.0"),
    ),
}
"""By line of Spark."""
