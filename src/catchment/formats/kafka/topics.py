"""Queries the servers of a depot about a topic."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from catchment.jvm.classes import Jvm


def topic_id(spark: SparkSession, topic: str, settings: Mapping[str, str]) -> str:
    """The id of a topic: a topic that is deleted and created again has a different one."""
    jvm = Jvm.of(spark)
    properties = jvm("java.util.Properties")()
    for name, value in settings.items():
        properties.setProperty(name, value)
    admin = jvm("org.apache.kafka.clients.admin.Admin").create(properties)
    try:
        described = admin.describeTopics(jvm("java.util.Collections").singletonList(topic))
        return str(described.topicNameValues().get(topic).get().topicId())
    finally:
        admin.close()
