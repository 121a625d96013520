"""Depots of Kafka: each has settings of its own, and Spark shows none of them."""

from __future__ import annotations

import re

from catchment.engine.protocol import Start
from catchment.engine.settings import spark_settings
from catchment.formats.kafka.connection import prefix, settings
from catchment.formats.registry import traits_of
from catchment.project.model import Depot
from tests.spark.lake import engine_plan

REDACTED = re.compile("(?i)secret|password|token|access[.]?key")
"""Spark's default for spark.redaction.regex."""
ONE = Depot("one", "kafka", "a:9092", conf={"sasl.jaas.config": "x"})
TWO = Depot("two", "kafka", "b:9092", conf={"isolation.level": "read_uncommitted"})


def test_the_settings_of_depots_do_not_mix() -> None:
    found = settings([ONE, TWO], "4.1", local=True)
    assert found[f"{prefix('one')}bootstrap.servers"] == "a:9092"
    assert found[f"{prefix('one')}sasl.jaas.config"] == "x"
    assert found[f"{prefix('one')}isolation.level"] == "read_committed"
    assert found[f"{prefix('two')}isolation.level"] == "read_uncommitted"
    assert f"{prefix('two')}sasl.jaas.config" not in found
    assert all(REDACTED.search(name) for name in found)


def test_they_are_no_settings_of_spark(tmp_path: object) -> None:
    start = Start(engine_plan(ONE, metastore="sqlite:///x"), (), str(tmp_path), str(tmp_path))
    found = spark_settings(start)
    assert "sasl.jaas.config" not in found
    assert found[f"{prefix('one')}sasl.jaas.config"] == "x"


def test_what_has_no_effect_is_refused() -> None:
    conf = {"sasl.mechanism": "PLAIN", "kafka.sasl.mechanism": "PLAIN", "bootstrap.servers": "c:1", "ssl.keystore": ""}
    hints = {name: hint for name, (_, _, hint) in traits_of("kafka").check_conf(conf)}
    assert hints == {
        "kafka.sasl.mechanism": "write `sasl.mechanism`: all settings of this depot are Kafka's",
        "bootstrap.servers": "write the servers in `location`",
        "ssl.keystore": "did you mean `ssl.keystore.key`?",
    }
