"""A worker that behaves as its first argument says; stands in for Spark where only the process boundary is tested."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from catchment.engine import wire
from catchment.engine.memory import MARKER_FILE
from catchment.engine.protocol import Alive, Done, Failed, Ready, Reply
from catchment.engine.wire import encode


def reply(message: Reply) -> None:
    sys.stdout.buffer.write(encode(message))
    sys.stdout.buffer.flush()


def ready() -> None:
    reply(Ready(spark_version="0", application_id=str(os.getpid())))


def serve() -> None:
    for line in sys.stdin.buffer:
        command = wire.command(line)
        if command.kind == "start":
            ready()
        elif command.kind == "run-job":
            print("working on", command.attempt, file=sys.stderr, flush=True)
            reply(Done(command.attempt, ()))
        elif command.kind == "stop":
            return


def say(*words: str) -> None:
    print(*words, file=sys.stderr, flush=True)
    ready()
    sys.stdin.read()


def leave(code: str) -> None:
    print("the disk is on fire", file=sys.stderr, flush=True)
    sys.exit(int(code))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def babble() -> None:
    print("Hello, I am no reply", flush=True)
    time.sleep(60)


def old() -> None:
    reply(Ready(spark_version="0", application_id="0", version=0))
    time.sleep(60)


def refuse() -> None:
    reply(Failed(None, "java-missing", "no Java", retryable=False, setup=True))
    sys.exit(1)


def choke() -> None:
    (Path(os.environ["TMPDIR"]) / MARKER_FILE).touch()
    deaf()


def deaf() -> None:
    ready()
    time.sleep(60)


def with_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
    reply(Ready(spark_version="0", application_id=str(child.pid)))
    time.sleep(60)


BEHAVIOURS = (serve, say, leave, die, babble, old, refuse, deaf, choke, with_child)

if __name__ == "__main__":
    reply(Alive())
    {behaviour.__name__: behaviour for behaviour in BEHAVIOURS}[sys.argv[1]](*sys.argv[2:])
