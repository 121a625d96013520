"""Topics of Kafka as inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from catchment.plan.model import Dataset, InputPlan, JobPlan, OutputPlan
from catchment.project.model import Depot
from tests.servers.kafka import Ports, login
from tests.spark.lake import job, output, reading, step
from tests.spark.streaming import streaming

SCHEMA = "id BIGINT, day STRING"
SOON = {"default.api.timeout.ms": "1000", "request.timeout.ms": "1000"}
"""For servers that do not answer."""


def broker_depots(ports: Ports) -> tuple[Depot, ...]:
    """The broker without and with a password, with a wrong one, and one that is not there."""
    return (
        Depot("broker", "kafka", ports.servers),
        Depot("guarded", "kafka", ports.guarded, conf=login()),
        Depot("stranger", "kafka", ports.guarded, conf=login("not-the-password")),
        Depot("nobody", "kafka", "127.0.0.1:1", conf=SOON),
    )


def topic(name: str, depot: str = "broker", format: str = "kafkajson") -> Dataset:
    return Dataset(f"dataos://{depot}:none/{name}", depot, format, topic=name)


def records(dataset: Dataset, **options: str) -> InputPlan:
    """A topic as a stream."""
    schema = SCHEMA if dataset.format == "kafkajson" else None
    return replace(reading("source", dataset, **options), schema=schema, stream=True)


def read_once(dataset: Dataset, target: Dataset, sql: str = "select * from source", **options: str) -> JobPlan:
    """A job that reads what a topic has now."""
    source = replace(records(dataset, **options), stream=False)
    return job(output("rows", target, mode="append"), inputs=[source], steps=[step("rows", sql)])


def consuming(root: Path, name: str, *outputs: OutputPlan, depot: str = "broker", **options: str) -> JobPlan:
    """A job that writes the records of a topic to the table of its name, or to these outputs."""
    return streaming(root, name, records(topic(name, depot), **options), *outputs)
