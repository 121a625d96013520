"""Asking before something is changed that cannot be changed back."""

from __future__ import annotations

import sys

import click

from catchment.errors import RequestError


def require(question: str) -> None:
    """Go on only if a person agrees; where nobody can be asked, nobody has agreed."""
    require_somebody()
    if not agrees(question):
        raise refused()


def require_somebody() -> None:
    """Go on only if there is somebody who can be asked."""
    if not sys.stdin.isatty():
        raise RequestError("nobody can be asked whether to do this", code="not-confirmed", hint="agree with --yes")


def agrees(question: str) -> bool:
    """Ask a person."""
    return click.confirm(question, err=True)


def refused() -> RequestError:
    """The error where a person did not agree."""
    return RequestError("nothing was changed", code="not-confirmed")
