"""Asking before something is changed that cannot be changed back."""

from __future__ import annotations

import sys

import click

from catchment.errors import RequestError


def require(question: str) -> None:
    """Go on only if a person agrees; where nobody can be asked, nobody has agreed."""
    if not sys.stdin.isatty():
        raise RequestError("nobody can be asked whether to do this", code="not-confirmed", hint="agree with --yes")
    if not click.confirm(question, err=True):
        raise RequestError("nothing was changed", code="not-confirmed")
