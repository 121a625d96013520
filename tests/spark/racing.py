"""Two Sparks that create the same files of a Delta log at the same moment, through the log store of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from catchment.engine.environment import Installed, environment

RACER = """
import json, sys
from pyspark.sql import SparkSession
from catchment.formats.delta import log_store
from catchment.jvm.classes import Jvm

settings, log, name = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
log_store.install(spark)
jvm, conf = Jvm.of(spark), spark._jsparkSession.sessionState().newHadoopConf()
store, path = jvm(log_store.CLASS)(conf), jvm("org.apache.hadoop.fs.Path")
path(log).getFileSystem(conf).mkdirs(path(log))
print(json.dumps(log_store.refuses_second_commit(spark.newSession(), log)), flush=True)
for line in sys.stdin:
    lines = jvm("java.util.ArrayList")()
    lines.add(name)
    try:
        store.write(path(f"{log}/{int(line):020}.json"), lines.iterator(), False, conf)
        print("true", flush=True)
    except Exception as error:
        assert "FileAlreadyExistsException" in str(error), error
        print("false", flush=True)
"""


class Racer:
    """One of them."""

    def __init__(self, name: str, log: str, spark: Installed, conf: Mapping[str, str]) -> None:
        settings = {"spark.driver.extraClassPath": ":".join(spark.jars), **conf}
        variables = environment(spark.spark_home, spark.python_path, {}, tempfile.gettempdir())
        command = [sys.executable, "-c", RACER, json.dumps(settings), log, name]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=variables,
        )

    def answer(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def send(self, version: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{version}\n")
        self.process.stdin.flush()


def race(
    log: str, sparks: tuple[Installed, Installed], conf: Mapping[str, str], rounds: int
) -> list[tuple[bool, bool]]:
    """Let two of them create each version at once; returns who succeeded."""
    racers = [Racer(name, log, spark, conf) for name, spark in zip(("one", "two"), sparks, strict=True)]
    try:
        assert [racer.answer() for racer in racers] == [True, True]
        return [_round(racers, version) for version in range(rounds)]
    finally:
        for racer in racers:
            racer.process.kill()
            racer.process.communicate()


def _round(racers: Sequence[Racer], version: int) -> tuple[bool, bool]:
    for racer in racers if version % 2 else reversed(racers):
        racer.send(version)
    one, two = (racer.answer() for racer in racers)
    return bool(one), bool(two)
