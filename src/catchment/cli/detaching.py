"""`--detach`: starts the verb's own command line as a service. One call for every verb that has the option."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from catchment.cli import options, printing, projects
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.project.model import Project

_FLAG = options.DETACHING[0]
_LOOKS_SECRET = re.compile(r"(password|passwd|token|secret|credential|access[-_.]?key)[\w.-]*=(?!\$\{)", re.IGNORECASE)


def detached(subject: str, project: Project, *, output: str, more: Sequence[str] = ()) -> bool:
    """Start the verb as a service if `--detach` was given, and print the service; returns whether it was.

    The verb calls this after every check that it can make without side effects. `subject` is what it works on, for the
    name of the service; `more` are arguments for the command of the service.
    """
    ctx = click.get_current_context()
    if not ctx.meta.get(options.DETACH):
        reason, hint = f"it is for {_FLAG}, which starts a service", f"add {_FLAG}, or leave it out"
        options.refuse(options.given("service_name", "restart_policy"), reason, hint)
        return False
    command = service_command(sys.argv[1:], ctx.command, (*more, *_environment(ctx, project)))
    _refuse_secrets(command)
    from catchment.cli.services import echo_one
    from catchment.run.services import control, starting

    name = starting.start(
        project,
        str(ctx.info_name),
        subject,
        command,
        name=ctx.meta.get(options.SERVICE_NAME),
        restart=ctx.meta.get(options.RESTART, "never"),
    )
    if output == "json":
        echo_one(control.show(project, name), output)
    else:
        click.echo(name)
    if not ctx.params.get("quiet"):
        printing.tell(f"service {name} runs in the background; catchment services logs -f {name} follows it")
    return True


def _environment(ctx: click.Context, project: Project) -> Sequence[str]:
    """The environment as an option, if it came from a variable: the service may be restarted from another shell."""
    given = ctx.get_parameter_source("environment") is ParameterSource.COMMANDLINE
    return ("--env", project.environment) if project.environment and not given else ()


def service_command(arguments: Sequence[str], verb: click.Command, more: Sequence[str]) -> list[str]:
    """The command line without the options for detaching, and with more arguments."""
    takes_value = {
        name
        for option in verb.params
        if isinstance(option, click.Option) and not option.is_flag
        for name in option.opts
    }
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return [*kept, *more, argument, *rest]
        name = argument.partition("=")[0]
        value = [next(rest)] if argument in takes_value else []
        if name not in options.DETACHING:
            kept += [argument, *value]
    return [*kept, *more]


def _refuse_secrets(command: Sequence[str]) -> None:
    """Refuse a command with a secret: the command of a service is stored, and shown in lists of services."""
    hide = projects.redactor()
    if any(hide.text(each) != each or _LOOKS_SECRET.search(each) for each in command):
        raise RequestError(
            "the command line holds a secret, and the command of a service is stored",
            code="secret-on-command-line",
            hint="write it into catchment.yaml as ${secret:NAME}, and leave it out here",
        )
