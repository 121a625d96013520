"""A process is known by its number, its start and its machine: a number that is used again deceives nobody."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace

from catchment import process_identity
from catchment.run.services import processes

ME = processes.this_process("me")


def test_this_process_is_here_and_alive() -> None:
    assert (process_identity.is_here(ME), process_identity.is_gone(ME), processes.is_elsewhere(ME)) == (
        True,
        False,
        False,
    )


def test_a_number_that_is_used_again_is_another_process() -> None:
    assert process_identity.is_gone(replace(ME, born=(ME.born or 0) - 1))


def test_nothing_is_known_of_processes_of_other_machines() -> None:
    for machine in ("another boot", None):
        there = replace(ME, machine=machine, born=1, host="elsewhere")
        assert (process_identity.is_here(there), process_identity.is_gone(there), processes.is_elsewhere(there)) == (
            False,
            False,
            True,
        )


def test_a_process_that_has_ended_is_gone_although_nobody_has_asked_about_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        there = replace(ME, pid=child.pid, born=process_identity._born(child.pid))
        assert not process_identity.is_gone(there)
        process_identity.send(replace(there, born=1), signal.SIGTERM)  # not this one
        assert not process_identity.is_gone(there)
        process_identity.send(there, signal.SIGTERM)
        while not process_identity.is_gone(there):
            pass  # it is a zombie then: nobody has waited for it yet
        assert child.wait() == -15
