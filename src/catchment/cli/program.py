"""The program: its list of verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from catchment.cli import completion, error_report, options, streams
from catchment.errors import RequestError, SetupError


@dataclass(frozen=True)
class Verb:
    """Where a verb is defined, and its summary in the list of verbs. Its module is imported when it is called."""

    target: str
    summary: str


VERBS = {
    "init": Verb("catchment.cli.init:init", "Create a small project that runs as it is."),
    "validate": Verb(
        "catchment.cli.validate:validate", "Check workflow files; report every problem with its position."
    ),
    "schema": Verb("catchment.cli.validate:schema", "Print the JSON Schema of workflow or project files."),
    "plan": Verb("catchment.cli.plan:plan", "Show what a run would do, without doing it."),
    "diff": Verb("catchment.cli.diff:diff", "Show what a workflow would do differently than its last run."),
    "run": Verb("catchment.cli.run:run", "Run a workflow."),
    "apply": Verb("catchment.cli.run:apply", "Run a workflow: catchment apply -f FILE."),
    "resume": Verb("catchment.cli.run:resume", "Run what did not succeed in an earlier run."),
    "schedule": Verb("catchment.cli.schedule:schedule", "Follow the schedules of workflows until stopped."),
    "ticks": Verb("catchment.cli.schedule:ticks", "List the ticks of schedules."),
    "runs": Verb("catchment.cli.runs:runs", "List runs, or show one."),
    "logs": Verb("catchment.cli.runs:logs", "Print the log files of a run."),
    "services": Verb("catchment.cli.services:services", "What runs in the background: ls, show, logs, stop, restart."),
    "query": Verb("catchment.cli.query:query", "Query the lake with SQL."),
    "shell": Verb("catchment.cli.shell.verb:shell", "Query the lake with SQL at a prompt."),
    "table": Verb("catchment.cli.table.group:table", "Inspect, publish, change and maintain tables."),
    "compact": Verb("catchment.cli.compact:compact", "Merge the small files of a table, once or continuously."),
    "maintain": Verb("catchment.cli.maintain:maintain", "Compact and expire all tables of the lake, as they need it."),
    "state": Verb("catchment.cli.state:state", "The state of incremental jobs: ls, show, set, reset, export, import."),
    "up": Verb("catchment.cli.resident:up", "Start engines that stay, so that other commands are quick."),
    "down": Verb("catchment.cli.resident:down", "End the engines that stay."),
    "engines": Verb("catchment.cli.engines:engines", "List engines: what each can read and write, and which run now."),
    "writers": Verb("catchment.cli.writers:writers", "Show which tables are being written, and by whom."),
    "recover": Verb("catchment.cli.recover:recover", "Finish or abandon the unfinished writes of lost engines."),
    "completion": Verb("catchment.cli.completion:completion", "Print the script that completes words in a shell."),
    "doctor": Verb("catchment.cli.doctor:doctor", "Check this machine and this project."),
    "demo": Verb("catchment.cli.demo:demo", "Watch two jobs write one table while a reader queries it."),
}


HIDDEN = {"resident": Verb("catchment.cli.resident:resident", "")}
"""Verbs that only services call."""
NO_PLUGINS = ("PYDANTIC_DISABLE_PLUGINS", "__all__")
"""Keeps pydantic from searching every installed package for plugins whenever a command starts."""


class Program(click.Group):
    """A group that imports a verb when it is called, and turns every error into text and exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name) or HIDDEN.get(cmd_name)
        if verb is None:
            return None
        module, _, name = verb.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        if ctx.resilient_parsing:  # a shell requests completions
            from catchment.cli import completers

            completers.attach(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            _require_directory()
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, streams.AnswerLost):
            raise
        except PermissionError as error:
            raise click.exceptions.Exit(error_report.report(_no_permission(error), ctx)) from error
        except (Exception, KeyboardInterrupt) as error:
            raise click.exceptions.Exit(error_report.report(error, ctx)) from error


@click.command(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="catchment", message="%(prog)s %(version)s")
@options.debug
def program() -> None:
    """Declarative Spark workflows: many engines write one lake at the same time.

    Answers go to standard output, progress and errors to standard error. Exit codes: 0 done, 1 a job failed,
    2 the request is wrong, 4 someone else holds the lease, 130 interrupted.
    """


def _no_permission(error: PermissionError) -> SetupError:
    place = error.filename or "a file"
    return SetupError(
        f"{place} may not be read, written or entered by you: {error.strerror}",
        code="no-permission",
        hint="give yourself the permission, or work as the user who has it",
    )


def _require_directory() -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        message, hint = "the working directory has been removed", "change to another directory: cd"
        raise RequestError(message, code="no-working-directory", hint=hint) from error


def main() -> None:
    """Run the program with this process's arguments and leave with its exit code."""
    os.environ.setdefault(*NO_PLUGINS)
    streams.prepare()
    if completion.VARIABLE in os.environ:
        completion.register()
    color = False if os.environ.get("NO_COLOR") else None
    try:
        code = program.main(prog_name="catchment", standalone_mode=False, color=color)
        sys.stdout.flush()  # now, while an error can still be reported
        sys.exit(code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(error_report.INTERRUPTED)
    except streams.AnswerLost as error:
        streams.discard_answer()
        click.echo(error_report.error_paragraph(error), err=True)
        sys.exit(error_report.JOB_FAILED)
