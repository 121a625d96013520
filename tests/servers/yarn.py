"""A real YARN cluster with HDFS on this machine: Hadoop's own mini clusters, in one Java. Needs a JDK."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from xml.etree import ElementTree

from catchment.engine import java, maven, packages
from catchment.formats.traits import Package
from tests.servers.cluster import spark_home

PACKAGES = (
    Package("javax.xml.bind:jaxb-api:2.3.1"),
    Package("junit:junit:4.13.2"),
    Package("org.apache.hadoop:hadoop-client-minicluster:3.4.2", alone=True),
    Package("org.bouncycastle:bcpkix-jdk18on:1.78.1"),
)
"""The rest of Hadoop, in the same version, is part of pyspark."""
MAIN = Path(__file__).with_name("MiniHadoop.java")
JAVA_OPTIONS = ("-Xmx768m", "--add-opens", "java.base/java.lang=ALL-UNNAMED")
START_SECONDS = 240.0
_QUEUE = "yarn.scheduler.capacity"
SETTINGS = {
    "yarn.nodemanager.disk-health-checker.enable": "false",
    "yarn.nodemanager.vmem-check-enabled": "false",
    f"{_QUEUE}.root.queues": "default",
    f"{_QUEUE}.root.default.capacity": "100",
    f"{_QUEUE}.root.default.maximum-capacity": "100",
    f"{_QUEUE}.root.default.user-limit-factor": "1",
    f"{_QUEUE}.maximum-am-resource-percent": "1",
}


@dataclass(frozen=True)
class YarnCluster:
    """Where its settings are, and its file system."""

    conf_dir: Path
    """What HADOOP_CONF_DIR has to be."""
    file_system: str
    """The address of HDFS."""
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def has_compiler() -> bool:
    """Whether Java here is a JDK, which can run a program from its source."""
    return Path(java.find().executable).resolve().with_name("javac").exists()


def start(directory: Path) -> YarnCluster:
    """Start HDFS with one data node, and YARN with two node managers."""
    found, conf_dir, log = java.find(), directory / "conf", directory / "yarn.log"
    jars = maven.jars(PACKAGES, found, packages.ivy(), print, Event())
    conf_dir.mkdir(parents=True)
    settings = conf_dir / "core-site.xml"
    options = [f"{key}={value}" for key, value in SETTINGS.items()]
    class_path = ":".join((*jars, *_hadoop()))
    home = Path(found.executable).resolve().parent.parent  # node managers start executors with this Java
    with log.open("wb") as out:
        process = subprocess.Popen(
            [found.executable, *JAVA_OPTIONS, "-cp", class_path, str(MAIN), str(settings), *options],
            cwd=directory,
            env={**os.environ, "JAVA_HOME": str(home)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    _await(settings, process, log)
    for name in ("hdfs-site.xml", "yarn-site.xml"):  # Hadoop's defaults for these would override the first one
        (conf_dir / name).write_text(settings.read_text())
    return YarnCluster(conf_dir, _value(settings, "fs.defaultFS"), process)


def _hadoop() -> list[str]:
    names = ("hadoop-client-*.jar", "slf4j-api-*.jar", "jcl-over-slf4j-*.jar", "log4j-*.jar")
    return [str(jar) for name in names for jar in sorted((spark_home() / "jars").glob(name))]


def _value(settings: Path, name: str) -> str:
    entries = ElementTree.parse(settings).getroot().iter("property")  # noqa: S314 - our own file
    return next(str(entry.findtext("value")) for entry in entries if entry.findtext("name") == name)


def _await(settings: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not settings.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise RuntimeError(f"the mini cluster did not start: {log.read_text()[-3000:]}")
        time.sleep(0.5)
