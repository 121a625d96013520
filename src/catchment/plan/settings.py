"""Separates the Spark settings of a job's session from those of the whole application."""

from __future__ import annotations

from collections.abc import Mapping

STATIC_SQL = frozenset(
    {
        "spark.sql.broadcastExchange.maxThreadThreshold",
        "spark.sql.cache.serializer",
        "spark.sql.catalogImplementation",
        "spark.sql.codegen.cache.maxEntries",
        "spark.sql.codegen.comments",
        "spark.sql.debug",
        "spark.sql.defaultUrlStreamHandlerFactory.enabled",
        "spark.sql.event.truncate.length",
        "spark.sql.extensions",
        "spark.sql.extensions.test.loadFromCp",
        "spark.sql.filesourceTableRelationCacheSize",
        "spark.sql.globalTempDatabase",
        "spark.sql.hive.thriftServer.singleSession",
        "spark.sql.legacy.sessionInitWithConfigDefaults",
        "spark.sql.metadataCacheTTLSeconds",
        "spark.sql.queryExecutionListeners",
        "spark.sql.resultQueryStage.maxThreadThreshold",
        "spark.sql.shuffleExchange.maxThreadThreshold",
        "spark.sql.sources.disabledJdbcConnProviderList",
        "spark.sql.sources.schemaStringLengthThreshold",
        "spark.sql.streaming.streamingQueryListeners",
        "spark.sql.streaming.ui.enabled",
        "spark.sql.streaming.ui.enabledCustomMetricList",
        "spark.sql.streaming.ui.retainedProgressUpdates",
        "spark.sql.streaming.ui.retainedQueries",
        "spark.sql.subquery.maxThreadThreshold",
        "spark.sql.ui.retainedExecutions",
        "spark.sql.warehouse.dir",
    }
)
"""Settings that Spark refuses to change in a running application (its StaticSQLConf)."""


def is_session_setting(key: str) -> bool:
    """Whether Spark can change this setting at run time; keys of Hadoop are passed on by the session."""
    if not key.startswith("spark."):
        return True
    return key.startswith("spark.sql.") and key not in STATIC_SQL and not key.startswith("spark.sql.hive.metastore.")


def split(conf: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """A job's settings as (session settings, application settings)."""
    session = {key: value for key, value in conf.items() if is_session_setting(key)}
    return session, {key: value for key, value in conf.items() if key not in session}
