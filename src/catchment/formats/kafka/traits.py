"""The traits of Kafka topics."""

from __future__ import annotations

from catchment.errors import JobError
from catchment.formats.kafka.connection import check_conf, settings
from catchment.formats.kafka.options import JSON, KAFKA, check_options, read_options, stream_options
from catchment.formats.traits import READ_ANEW, Fault, Package, Rule, Traits

_ERRORS = "org.apache.kafka.common.errors"
_READER = "org.apache.spark.sql.kafka010"
_LOST = (
    "the retention of the topic has removed them, or somebody has: give the input the option `failOnDataLoss: false` "
    f"to go on without them, or {READ_ANEW}"
)

TRAITS = Traits(
    name="kafka",
    formats=(KAFKA, JSON),
    is_table=False,
    servers=True,
    check_conf=check_conf,
    writable=False,
    read_options=read_options,
    check_read_options=check_options,
    needs_schema=frozenset({JSON}),
    streams=True,
    streams_by_default=True,
    stream_options=stream_options,
    packages={
        # Without dependencies: Spark has the others, in the versions that it was built with.
        "4.1": (
            Package("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.2", alone=True),
            # The one for 4.1 is not published everywhere. This one differs in how it logs delegation tokens.
            Package("org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0", alone=True),
            Package("org.apache.kafka:kafka-clients:3.9.1", alone=True),
            Package("org.apache.commons:commons-pool2:2.12.1", alone=True),
        ),
        "3.5": (
            Package("org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7", alone=True),
            Package("org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7", alone=True),
            Package("org.apache.kafka:kafka-clients:3.4.1", alone=True),
            Package("org.apache.commons:commons-pool2:2.11.1", alone=True),
        ),
    },
    settings=settings,
    rules=(
        Rule(
            frozenset(
                {
                    "org.apache.kafka.clients.consumer.OffsetOutOfRangeException",
                    f"{_READER}.KafkaIllegalStateException",
                }
            ),
            JobError,
            "source-history-gone",
            "records were deleted before they were read",
            _LOST,
        ),
        Rule(
            frozenset({f"{_ERRORS}.UnknownTopicOrPartitionException", f"{_ERRORS}.InvalidTopicException"}),
            JobError,
            "input-not-found",
            "the servers do not have the topic",
            "check the address, and where the depot's `location` points; or create the topic first",
        ),
        Rule(
            frozenset({"org.apache.kafka.common.config.ConfigException"}),
            JobError,
            "input-failed",
            "the settings of the depot cannot be used",
            "correct `location` or `conf` of the depot in catchment.yaml",
        ),
    ),
    unavailable=frozenset({f"{_ERRORS}.RetriableException"}),
    refused=frozenset({f"{_ERRORS}.AuthenticationException", f"{_ERRORS}.AuthorizationException"}),
    # Spark 4.1 (SPARK-57438) fails when it reports on a batch that an earlier query has planned.
    passing_faults=(Fault("java.lang.NullPointerException", f"{_READER}.KafkaMicroBatchStream$"),),
)
