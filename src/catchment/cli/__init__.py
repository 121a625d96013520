"""The command line: one file per verb, heavy imports only inside the verb."""

from catchment.cli.program import main

__all__ = ["main"]
