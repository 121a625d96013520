"""`catchment completion bash|zsh|fish`, and the answers to a shell while the user types."""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

from catchment.cli import options

VARIABLE = "_CATCHMENT_COMPLETE"
"""The shell's script sets this variable to request completions."""

# Bash ends words at `:` and `=`, which addresses contain. So Catchment splits the line itself, and the script removes
# everything up to the last of these characters from the answer.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' line="${COMP_LINE:0:$COMP_POINT}" word prefix="" response completion type value
    word="${line##*[[:space:]]}"
    [[ "$word" == *[:=]* ]] && prefix="${word%%"${word##*[:=]}"}"
    response=$(env COMP_LINE="$line" %(complete_var)s=bash_complete "$1")
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            COMPREPLY+=("${value#"$prefix"}")
            [[ $value == *[:/=] ]] && compopt -o nospace
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion in Bash."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one at the cursor."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)
        last = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], last


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@options.debug
def completion(shell: str) -> None:
    """Print the script that completes verbs, options, addresses, jobs and runs in a shell.

    bash and zsh: eval "$(catchment completion bash)" in .bashrc or .zshrc. fish: catchment completion fish | source
    """
    register()
    found = get_completion_class(shell)
    root = click.get_current_context().find_root()
    if found is not None:
        click.echo(found(root.command, {}, "catchment", VARIABLE).source())


def register() -> None:
    """Let click use the classes of this module."""
    add_completion_class(Bash)
