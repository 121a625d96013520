"""Real processes that do the same thing at the same moment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any

PATIENCE = 90
"""Seconds; a new interpreter takes its time on a busy machine."""

_CONTEXT = multiprocessing.get_context("spawn")
Work = Callable[..., Any]


@contextmanager
def together(work: Work, url: str, *, processes: int, arguments: tuple[Any, ...] = ()) -> Iterator[Callable[[], Any]]:
    """Run `work(url, number, barrier, *arguments)` in each process; inside, `result()` waits for the next answer."""
    barrier, answers = _CONTEXT.Barrier(processes), _CONTEXT.Queue()
    started = [
        _CONTEXT.Process(target=_answer, args=(work, url, number, barrier, answers, arguments))
        for number in range(processes)
    ]
    for process in started:
        process.start()
    try:
        yield lambda: _unless_failed(answers.get(timeout=PATIENCE))
    finally:
        for process in started:
            process.join(PATIENCE)
            process.kill()
    assert [process.exitcode for process in started] == [0] * processes


def answers_of(work: Work, url: str, *, processes: int, arguments: tuple[Any, ...] = ()) -> list[Any]:
    """What every process answered, in the order of their numbers."""
    with together(work, url, processes=processes, arguments=arguments) as result:
        answers = dict(result() for _ in range(processes))
    return [answers[number] for number in range(processes)]


def _answer(
    work: Work, url: str, number: int, barrier: Barrier, answers: Queue[Any], arguments: tuple[Any, ...]
) -> None:
    try:
        answers.put((number, work(url, number, barrier, *arguments)))
    except BaseException as error:
        barrier.abort()
        answers.put(f"{type(error).__name__}: {error}")


def _unless_failed(answer: Any) -> Any:
    assert not isinstance(answer, str), answer
    return answer
