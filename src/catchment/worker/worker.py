"""The worker process of an engine, which runs one Spark application: `python -m catchment.worker.worker`.

It ends itself and its JVM when its standard input is closed, because then its launcher is gone.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn

from catchment.engine.memory import exit_code
from catchment.engine.protocol import (
    HEARTBEAT_SECONDS,
    VERSION,
    Alive,
    Cancel,
    Publish,
    Start,
    Stop,
    Work,
    failure,
)
from catchment.errors import CatchmentError, EngineLost, RequestError
from catchment.worker.channel import Channel

if TYPE_CHECKING:  # Spark is imported after the first heartbeat, because that takes time
    from catchment.worker.attempts import Attempt
    from catchment.worker.session import Application

MAX_ATTEMPTS = 256
TICK_SECONDS = 0.2
PROGRESS_TICKS = 5
EXIT_SECONDS = 5.0
"""How long Spark may take to stop."""
_importing = threading.Lock()
"""Two threads that import parts of one package at the same time may each find the half that the other has made."""


class Worker:
    """Answers commands until it receives `Stop` or the launcher is gone."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._start: Start | None = None
        self._application: Future[Application] = Future()
        self._attempts: dict[str, Attempt] = {}
        self._ending = threading.Event()
        # Threads are reused, because each one that has called the JVM holds a connection and a thread there.
        self._threads = ThreadPoolExecutor(MAX_ATTEMPTS, thread_name_prefix="attempt")

    def serve(self) -> None:
        """Handle commands until `Stop` or the end of the input."""
        for task in (self._send_heartbeats, self._watch_attempts):
            threading.Thread(target=task, daemon=True).start()
        for command in self._channel.commands():
            if isinstance(command, Stop):
                return
            self._handle(command)

    def end(self) -> NoReturn:
        """Stop Spark, or kill everything if that takes too long."""
        self._ending.set()
        threading.Timer(EXIT_SECONDS, self._exit_now).start()
        if self._application.done():
            self._application.result().stop()
        self._exit_now()

    def _exit_now(self) -> NoReturn:
        if self._start:  # the launcher does this too, but it may be gone
            shutil.rmtree(self._start.scratch, ignore_errors=True)
        _end_group()

    def _handle(self, command: Start | Work | Cancel | Publish) -> None:
        match command:
            case Start():
                self._start = command
                self._channel.redact(command.secrets)
                threading.Thread(target=self._start_application, args=(command,), daemon=True).start()
            case Cancel():
                if attempt := self._attempts.get(command.attempt):
                    attempt.cancel()
            case Publish():
                if attempt := self._attempts.get(command.attempt):
                    attempt.publish(command.output)
            case _:
                self._threads.submit(self._run, self._register(command))

    def _start_application(self, start: Start) -> None:
        try:
            if start.version != VERSION:
                raise RequestError(f"launcher speaks protocol {start.version}, worker {VERSION}", code="protocol")
            with _importing:
                from catchment.worker.session import Application

            application = Application.start(start)
        except Exception as error:
            self._channel.send(failure(_not_started(error)))
            self.end()
        self._channel.send(application.ready())
        self._application.set_result(application)

    def _register(self, work: Work) -> Attempt:
        with _importing:
            from catchment.worker.attempts import Attempt

        if self._start is None:
            raise RequestError("the first command must be Start", code="protocol")
        attempt = self._attempts[work.attempt] = Attempt(work, self._start, self._channel)
        return attempt

    def _run(self, attempt: Attempt) -> None:
        try:
            attempt.run(self._application.result())
        except EngineLost as lost:
            self._exit_lost(lost.message)
        finally:
            del self._attempts[attempt.id]

    def _send_heartbeats(self) -> None:
        while True:
            # If the JVM hangs, so does this call: the heartbeats stop, and the launcher kills the engine.
            if self._application.done() and not self._application.result().answers():
                self._exit_lost("Java has ended")
            self._channel.send(Alive())
            time.sleep(HEARTBEAT_SECONDS)

    def _exit_lost(self, message: str) -> None:
        """Exit because the JVM has ended, unless the worker itself is stopping it."""
        if not self._ending.is_set():
            print(message, file=sys.stderr, flush=True)
            os._exit(exit_code(self._application.result().java_exit_code()))

    def _watch_attempts(self) -> None:
        context = self._application.result().context
        for tick in itertools.count():
            time.sleep(TICK_SECONDS)
            for attempt in list(self._attempts.values()):
                with contextlib.suppress(Exception):  # if Spark has failed, the attempt itself reports it
                    attempt.stop_if_cancelled(context)
                    if tick % PROGRESS_TICKS == 0:
                        attempt.send_progress(context)


def _not_started(error: Exception) -> CatchmentError:
    if isinstance(error, CatchmentError):
        return error
    return CatchmentError(f"the engine could not be started: {error!r}", detail=traceback.format_exc())


def _end_group() -> NoReturn:
    if os.getpgrp() == os.getpid():  # started by the launcher, not by hand in a shell
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    """Serve one launcher."""
    os.environ["TZ"] = "UTC"  # Spark converts timestamps for Python to the time zone of the process
    time.tzset()
    worker = Worker(Channel.take_over(sys.stdin.buffer))
    try:
        worker.serve()
    finally:
        worker.end()


if __name__ == "__main__":
    main()
