"""A real Kafka: one process that is broker and controller, without and with passwords."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from threading import Event

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from catchment.engine import java, maven, packages
from catchment.formats.traits import Package
from tests.servers.s3 import free_port

PACKAGE = Package("org.apache.kafka:kafka_2.13:4.1.0")
USER, PASSWORD = "catchment", "kafka-password-of-tests"
PATIENCE = 120.0
_ID = "Y2F0Y2htZW50LXRlc3RzIQ"
"""Of the cluster and of its directory: sixteen bytes in Base64."""


@dataclass(frozen=True)
class Ports:
    """Where a broker listens, which can be known before it runs."""

    plain: int
    sasl: int
    controller: int

    @classmethod
    def free(cls) -> Ports:
        return cls(free_port(), free_port(), free_port())

    @property
    def servers(self) -> str:
        """Where no password is asked for."""
        return f"127.0.0.1:{self.plain}"

    @property
    def guarded(self) -> str:
        """Where one is."""
        return f"127.0.0.1:{self.sasl}"


@dataclass
class Broker:
    """A broker, and what producers and operators do with it."""

    ports: Ports
    directory: Path
    command: tuple[str, ...]

    def __post_init__(self) -> None:
        self.start()
        self._admin = AdminClient(self._settings())

    def start(self) -> None:
        """Start it, also again, with the same topics."""
        log = self.directory / "kafka.log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=subprocess.STDOUT, cwd=self.directory)
        _await(self.ports.plain, self.process, log)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def create(self, topic: str, partitions: int = 2) -> None:
        [done] = self._admin.create_topics([NewTopic(topic, partitions, 1)]).values()
        done.result(PATIENCE)

    def delete(self, topic: str) -> None:
        [done] = self._admin.delete_topics([topic]).values()
        done.result(PATIENCE)

    def send(self, topic: str, ids: Iterable[int], day: str = "d1") -> None:
        """Records with an id and a day, dealt out to the partitions by their id."""
        self.send_values(topic, [(number, json.dumps({"id": number, "day": day})) for number in ids])

    def send_values(
        self, topic: str, values: Sequence[tuple[int, str | None]], producer: Producer | None = None
    ) -> None:
        """Values by their number, which is the key too; a value may be missing."""
        own = producer or Producer(self._settings())
        partitions = len(own.list_topics(topic, PATIENCE).topics[topic].partitions)
        for number, value in values:
            own.produce(topic, value=value, key=str(number), partition=number % partitions)
        assert own.flush(PATIENCE) == 0

    def transaction(self, topic: str, ids: Iterable[int], *, commit: bool) -> None:
        """Records of one transaction."""
        producer = Producer({**self._settings(), "transactional.id": f"of-{topic}"})
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        values = [(number, json.dumps({"id": number, "day": "d1"})) for number in ids]
        self.send_values(topic, values, producer)
        (producer.commit_transaction if commit else producer.abort_transaction)(PATIENCE)

    def _settings(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self.ports.servers, "log_level": 0}

    def delete_records(self, topic: str, before: int, partitions: int = 2) -> None:
        """Delete the records of every partition before an offset, as its retention would."""
        places = [TopicPartition(topic, number, before) for number in range(partitions)]
        for done in self._admin.delete_records(places).values():
            done.result(PATIENCE)


def start(directory: Path, ports: Ports) -> Broker:
    """Start a broker that knows no topic; topics are made by those who want them."""
    found = java.find()
    jars = maven.jars((PACKAGE,), found, packages.ivy(), print, Event())
    data = directory / "data"
    data.mkdir(parents=True)
    _write(data / "meta.properties", {"version": 1, "cluster.id": _ID, "node.id": 1, "directory.id": _ID})
    settings = directory / "server.properties"
    _write(settings, _settings(data, ports))
    command = (found.executable, "-Xmx256m", "-cp", ":".join(jars), "kafka.Kafka", str(settings))
    return Broker(ports, directory, command)


def login(password: str = PASSWORD) -> dict[str, str]:
    """The settings of a depot at the guarded port."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{password}";',
    }


def _settings(data: Path, ports: Ports) -> dict[str, object]:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAIN",
        "listeners": ",".join(
            f"{name}://127.0.0.1:{port}"
            for name, port in (("PLAIN", ports.plain), ("LOGIN", ports.sasl), ("CONTROLLER", ports.controller))
        ),
        "listener.security.protocol.map": "PLAIN:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{module} required user_{USER}="{PASSWORD}";',
        "log.dirs": data,
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
    }


def _write(file: Path, settings: dict[str, object]) -> None:
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    process.kill()
    process.wait()
    raise RuntimeError(f"kafka did not start: {log.read_text()[-2000:]}")
