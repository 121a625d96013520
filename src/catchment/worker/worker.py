"""The worker process of an engine, which runs one Spark application: `python -m catchment.worker.worker`.

It ends itself and its JVM when its standard input is closed, because then its launcher is gone. A resident engine also
serves clients, each of which is a conversation like that with the launcher; what a client has begun ends with it.
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
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from catchment.engine import memory
from catchment.engine.memory import EXIT_CODE, exit_code
from catchment.engine.protocol import (
    HEARTBEAT_SECONDS,
    VERSION,
    Alive,
    AskStatus,
    Attach,
    Cancel,
    Command,
    Ending,
    Publish,
    Residence,
    RunJob,
    Start,
    Stop,
    Work,
    failure,
)
from catchment.errors import CatchmentError, EngineLost, RequestError
from catchment.worker.channel import Channel
from catchment.worker.clients import Client, Door
from catchment.worker.wear import Wear

if TYPE_CHECKING:  # Spark is imported after the first heartbeat, because that takes time
    from catchment.worker.attempts import Attempt
    from catchment.worker.session import Application

MAX_ATTEMPTS = 256
CANCEL_SECONDS = 0.2
PROGRESS_SECONDS = 1.0
EXIT_SECONDS = 5.0
"""How long Spark may take to stop."""
IDLE_LOOK_SECONDS = 1.0
HEAP_LOOKS = 30
"""After so many looks whether a resident engine is idle, its heap is looked at as soon as it runs nothing."""
STUCK_SECONDS = 60.0
"""How long work may go on whose client is gone. Spark's jobs end as soon as they are cancelled, other calls may not."""
Replaced = Literal["worn-out", "stuck"]
REFUSALS: Mapping[Replaced, str] = {
    "worn-out": "it does not give its memory back",
    "stuck": "work that was cancelled does not end there",
}
"""Why an engine that is to be replaced lets nobody in."""
_importing = threading.Lock()
"""Two threads that import parts of one package at the same time may each find the half that the other has made."""


class Worker:
    """Answers commands until it receives `Stop` or the launcher is gone."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._start: Start | None = None
        self._since = time.time()
        self._door: Door | None = None
        self._application: Future[Application] = Future()
        self._attempts: dict[str, Attempt] = {}
        self._answered, self._jobs = 0, 0
        self._counting = threading.Lock()
        self._ending = threading.Event()
        # Threads are reused, because each one that has called the JVM holds a connection and a thread there.
        self._threads = ThreadPoolExecutor(MAX_ATTEMPTS, thread_name_prefix="attempt")

    def serve(self) -> None:
        """Handle commands until `Stop` or the end of the input."""
        for task in (self._send_heartbeats, self._end_cancelled, self._send_progress):
            threading.Thread(target=task, daemon=True).start()
        launcher: Client | None = None
        for command in self._channel.commands():
            if isinstance(command, Stop):
                return
            if isinstance(command, Start):
                launcher = Client(0, self._channel, command.log_dir)
                self._begin(command)
            elif launcher is None:
                raise RequestError("the first command must be Start", code="protocol")
            else:
                self._handle(command, launcher)

    def serve_client(self, client: Client) -> None:
        """Handle the commands of a client of a resident engine; what it leaves unfinished is cancelled."""
        client.channel.send(replace(self._application.result().ready(), resident=True))
        try:
            for command in client.channel.commands():
                if isinstance(command, Stop):
                    return
                self._handle(command, client)
        finally:
            for attempt in list(self._attempts.values()):
                if attempt.client is client:
                    attempt.abandon()

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

    def _begin(self, start: Start) -> None:
        self._start = start
        self._channel.redact(start.secrets)
        threading.Thread(target=self._start_application, args=(start,), daemon=True).start()

    def _handle(self, command: Command, client: Client) -> None:
        match command:
            case Start() | Attach() | AskStatus() | Stop():
                raise RequestError(f"{command.kind} is not expected here", code="protocol")
            case Cancel():
                if attempt := self._attempts.get(f"{client.number}/{command.attempt}"):
                    attempt.cancel()
            case Publish():
                if attempt := self._attempts.get(f"{client.number}/{command.attempt}"):
                    attempt.publish(command.output)
            case _:
                self._threads.submit(self._run, self._register(command, client))

    def _start_application(self, start: Start) -> None:
        try:
            if start.version != VERSION:
                raise RequestError(f"launcher speaks protocol {start.version}, worker {VERSION}", code="protocol")
            with _importing:
                from catchment.worker.session import Application

            application = Application.start(start)
            self._application.set_result(application)
            if start.residence:
                self._let_in(start, start.residence)
        except Exception as error:
            self._channel.send(failure(_not_started(error)))
            self.end()
        self._channel.send(application.ready())

    def _let_in(self, start: Start, residence: Residence) -> None:
        self._door = Door(start, residence, self.serve_client, self._status)
        self._door.open()
        threading.Thread(target=self._leave, args=(self._door,), daemon=True).start()

    def _register(self, work: Work, client: Client) -> Attempt:
        with _importing:
            from catchment.worker.attempts import Attempt

        if self._start is None:
            raise RequestError("the first command must be Start", code="protocol")
        attempt = Attempt(work, self._start, client)
        self._attempts[attempt.group] = attempt
        return attempt

    def _run(self, attempt: Attempt) -> None:
        try:
            attempt.run(self._application.result())
        except EngineLost as lost:
            self._exit_lost(lost.message)
        finally:
            del self._attempts[attempt.group]
            with self._counting:  # attempts end in threads of their own
                self._answered += 1
                self._jobs += isinstance(attempt.work, RunJob)

    def _status(self, clients: tuple[Client, ...]) -> Mapping[str, Any]:
        """What is known of a resident engine while it runs."""
        heap = self._application.result().heap.measure()
        running = [attempt.client.number for attempt in list(self._attempts.values())]
        return {
            "since": self._since,
            "clients": [
                {"who": each.who, "since": each.since, "running": running.count(each.number)} for each in clients
            ],
            "abandoned": sum(attempt.abandoned is not None for attempt in list(self._attempts.values())),
            "jobs": self._jobs,
            "answered": self._answered,
            "heap_live": heap.live,
            "heap_most": heap.most,
        }

    def _leave(self, door: Door) -> None:
        """End a resident engine when nobody has used it for long, or when it is of no more use to anybody."""
        wear, due = Wear(self._application.result().heap), HEAP_LOOKS
        for look in itertools.count(1):
            time.sleep(IDLE_LOOK_SECONDS)
            if self._is_stuck():
                self._replace(door, "stuck")
            if self._attempts:
                continue
            if door.close_if_idle():
                self._end_by_itself(Ending("idle"))
            if look >= due:
                due = look + HEAP_LOOKS
                if self._is_worn_out(wear):
                    self._replace(door, "worn-out")

    def _replace(self, door: Door, reason: Replaced) -> NoReturn:
        """Let nobody else in, wait until nobody is in, and end."""
        door.refuse(REFUSALS[reason])
        while not door.close_if_empty():
            time.sleep(IDLE_LOOK_SECONDS)
        self._end_by_itself(Ending(reason, door.idle_seconds))

    def _is_worn_out(self, wear: Wear) -> bool:
        """Whether the heap is too full although nothing runs, and nothing ran while it was measured."""
        answered = self._answered
        return wear.is_worn_out(answered) and not self._attempts and self._answered == answered

    def _is_stuck(self) -> bool:
        """Whether work that was abandoned by its client does not end, although it was cancelled."""
        abandoned = [attempt.abandoned for attempt in list(self._attempts.values())]
        return any(since is not None and time.monotonic() - since > STUCK_SECONDS for since in abandoned)

    def _end_by_itself(self, ending: Ending) -> NoReturn:
        self._channel.send(ending)
        self.end()

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
            code = exit_code(self._application.result().java_exit_code())
            self._tell_clients(message, out_of_memory=code == EXIT_CODE)
            os._exit(code)

    def _tell_clients(self, message: str, *, out_of_memory: bool) -> None:
        """Say why the engine is lost; the launcher sees it by the exit code."""
        if self._door is None or self._start is None:
            return
        engine, log = self._start.engine, f"{self._start.log_dir}/engine-{self._start.engine.key}.log"
        at_work = {attempt.client.number for attempt in list(self._attempts.values())}
        for client in self._door.clients():
            error = EngineLost(f"the resident engine {engine.key} is lost: {message}", hint=f"read {log}")
            if out_of_memory:
                # Whoever was alone with it is to blame; otherwise nobody knows who was.
                explained = memory.out_of_memory(engine, log)
                alone = at_work == {client.number}
                error = explained if alone else EngineLost(explained.message, hint=explained.hint)
            client.channel.send(failure(error))

    def _end_cancelled(self) -> None:
        context = self._application.result().context
        while True:
            time.sleep(CANCEL_SECONDS)
            for attempt in list(self._attempts.values()):
                with contextlib.suppress(Exception):  # if Spark has failed, the attempt itself reports it
                    attempt.stop_if_cancelled(context)

    def _send_progress(self) -> None:
        """In a thread of its own: a client that does not read must not keep others from being cancelled."""
        context = self._application.result().context
        while True:
            time.sleep(PROGRESS_SECONDS)
            for attempt in list(self._attempts.values()):
                with contextlib.suppress(Exception):
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
    """Serve one launcher, which alone says when to end: a machine that shuts down sends SIGTERM to every process."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Java inherits that
    os.environ["TZ"] = "UTC"  # Spark converts timestamps for Python to the time zone of the process
    time.tzset()
    worker = Worker(Channel.take_over(sys.stdin.buffer))
    try:
        worker.serve()
    finally:
        worker.end()


if __name__ == "__main__":
    main()
