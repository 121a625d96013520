"""Errors are values: what they say is settled when they are made, and a copy says something else."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from catchment.errors import CatchmentError, CommitConflict, Diagnostic, InvalidFiles, JobError, LeaseLost, Position
from catchment.project.address import BadAcl

HERE, THERE = Position("taxi.yaml", 3, 7), Position("taxi.yaml", 9, 1)


def raised(error: CatchmentError) -> CatchmentError:
    """The error as it is where it was caught, with a cause and a traceback."""
    try:
        try:
            raise KeyError("cause")
        except KeyError as cause:
            raise error from cause
    except CatchmentError as caught:
        return caught


@pytest.mark.parametrize("name", ["message", "code", "hint", "where", "detail"])
def test_an_error_does_not_change(name: str) -> None:
    error: Any = JobError("lost", hint="look", where=HERE, detail="trace")
    with pytest.raises(AttributeError, match=rf"changed\({name}="):
        setattr(error, name, "another")
    assert (error.message, error.code, error.hint, error.where) == ("lost", "job-failed", "look", HERE)


def test_what_a_subclass_adds_does_not_change_either() -> None:
    error: Any = InvalidFiles([Diagnostic("bad-name", "no")])
    with pytest.raises(AttributeError):
        error.diagnostics = ()


def test_an_error_is_its_message() -> None:
    error = JobError("lost")
    assert str(error) == error.message == "lost"
    found = error.changed(message="output rows: lost")
    assert str(found) == found.message == "output rows: lost"
    assert str(error) == "lost"
    assert str(error.changed(hint="look")) == "lost"


def test_a_copy_says_what_it_is_told_and_keeps_the_rest() -> None:
    error = JobError("lost", code="sql-failed", hint="look", where=HERE, detail="trace")
    found = error.changed(message="gone", where=THERE)
    assert (found.message, found.code, found.hint, found.where, found.detail) == (
        *("gone", "sql-failed", "look", THERE, "trace"),
    )
    assert found.changed(hint="look twice").hint == "look twice"


@pytest.mark.parametrize(
    "error", [CommitConflict("x"), LeaseLost("x"), BadAcl("x"), InvalidFiles([Diagnostic("bad-name", "no")])]
)
def test_a_copy_is_of_the_same_kind(error: CatchmentError) -> None:
    found = error.changed(message="y")
    assert type(found) is type(error)
    assert found.code == error.code
    assert {**vars(error), "message": "y"} == vars(found)


def test_a_copy_keeps_cause_and_traceback() -> None:
    error = raised(JobError("lost"))
    found = error.changed(message="gone")
    assert isinstance(found.__cause__, KeyError)
    assert found.__suppress_context__
    told = "".join(traceback.format_exception(found))
    assert "in raised" in told
    assert told.endswith("JobError: gone\n")


def test_an_error_is_placed_once() -> None:
    placed = JobError("lost").at(HERE)
    assert placed.where == HERE
    assert placed.at(THERE) is placed
    assert JobError("lost").at(None).where is None


def test_an_error_may_be_raised_again() -> None:
    error = raised(JobError("lost"))
    before = error.__traceback__
    error.__traceback__ = None
    error.__traceback__ = before
    assert raised(error) is error
