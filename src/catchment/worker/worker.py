"""Their side of the process boundary: `python -m catchment.worker.worker`, one Spark application.

Ends itself and its JVM when its launcher is gone, which it learns from the end of its standard input.
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
    Start,
    Stop,
    Work,
    failure,
)
from catchment.errors import CatchmentError, EngineLost, RequestError
from catchment.worker.channel import Channel

if TYPE_CHECKING:  # Spark is imported while the launcher already hears our heart beat
    from catchment.worker.attempts import Attempt
    from catchment.worker.session import Application

MOST_ATTEMPTS = 256
TICK_SECONDS = 0.2
PROGRESS_TICKS = 5
FAREWELL_SECONDS = 5.0
"""How long Spark may take to stop in good order."""


class Worker:
    """Answers commands until it is told to stop or nobody is left to answer to."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._start: Start | None = None
        self._application: Future[Application] = Future()
        self._attempts: dict[str, Attempt] = {}
        self._ending = threading.Event()
        # Threads are used again: each one that has talked to the JVM holds a connection and a thread there.
        self._threads = ThreadPoolExecutor(MOST_ATTEMPTS, thread_name_prefix="attempt")

    def serve(self) -> None:
        """Take commands until `Stop` or the end of the input."""
        for task in (self._beat, self._watch):
            threading.Thread(target=task, daemon=True).start()
        for command in self._channel.commands():
            if isinstance(command, Stop):
                return
            self._take(command)

    def end(self) -> NoReturn:
        """Stop Spark in good order if that works within seconds, and leave nothing running in any case."""
        self._ending.set()
        threading.Timer(FAREWELL_SECONDS, self._leave).start()
        if self._application.done():
            self._application.result().stop()
        self._leave()

    def _leave(self) -> NoReturn:
        if self._start:  # the launcher would do it, if it is still there
            shutil.rmtree(self._start.scratch, ignore_errors=True)
        _end_group()

    def _take(self, command: Start | Work | Cancel) -> None:
        match command:
            case Start():
                self._start = command
                self._channel.keep_secret(command.secrets)
                threading.Thread(target=self._begin, args=(command,), daemon=True).start()
            case Cancel():
                if attempt := self._attempts.get(command.attempt):
                    attempt.cancel()
            case _:
                self._threads.submit(self._run, self._registered(command))

    def _begin(self, start: Start) -> None:
        try:
            if start.version != VERSION:
                raise RequestError(f"launcher speaks protocol {start.version}, worker {VERSION}", code="protocol")
            from catchment.worker.session import Application

            application = Application.start(start)
        except Exception as error:
            self._channel.send(failure(_not_started(error)))
            self.end()
        self._channel.send(application.ready())
        self._application.set_result(application)

    def _registered(self, work: Work) -> Attempt:
        from catchment.worker.attempts import Attempt

        if self._start is None:
            raise RequestError("the first command must be Start", code="protocol")
        attempt = self._attempts[work.attempt] = Attempt(work, self._start, self._channel)
        return attempt

    def _run(self, attempt: Attempt) -> None:
        try:
            attempt.run(self._application.result())
        except EngineLost as lost:
            self._die(lost.message)
        finally:
            del self._attempts[attempt.id]

    def _beat(self) -> None:
        while True:
            # A JVM that does not answer stops the heart, and the launcher draws the conclusion.
            if self._application.done() and not self._application.result().answers():
                self._die("Java has ended")
            self._channel.send(Alive())
            time.sleep(HEARTBEAT_SECONDS)

    def _die(self, last_words: str) -> None:
        """End because the JVM has; where it is being stopped, that is no news and others see to the end."""
        if not self._ending.is_set():
            print(last_words, file=sys.stderr, flush=True)
            os._exit(exit_code(self._application.result().last_code()))

    def _watch(self) -> None:
        context = self._application.result().context
        for tick in itertools.count():
            time.sleep(TICK_SECONDS)
            for attempt in list(self._attempts.values()):
                with contextlib.suppress(Exception):  # whatever is wrong with Spark, the attempt itself will tell
                    attempt.stop_if_cancelled(context)
                    if tick % PROGRESS_TICKS == 0:
                        attempt.tell_progress(context)


def _not_started(error: Exception) -> CatchmentError:
    if isinstance(error, CatchmentError):
        return error
    return CatchmentError(f"the engine could not be started: {error!r}", detail=traceback.format_exc())


def _end_group() -> NoReturn:
    if os.getpgrp() == os.getpid():  # started by the launcher, and not by hand in somebody's shell
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    """Serve one launcher."""
    os.environ["TZ"] = "UTC"  # Spark hands moments to Python in the process's own time zone
    time.tzset()
    worker = Worker(Channel.take_over(sys.stdin.buffer))
    try:
        worker.serve()
    finally:
        worker.end()


if __name__ == "__main__":
    main()
