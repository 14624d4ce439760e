"""`topicschema completion`: a script that completes commands, options and their values in bash and zsh.

It is made of the parser itself, so it cannot fall behind; files are completed wherever nothing else fits.
"""

import argparse
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Final

from topicschema.cli import arguments, rules
from topicschema.cli.exits import COMPATIBLE

_SCRIPT: Final = """_topicschema() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "$COMP_CWORD:${{COMP_WORDS[1]}}:$before" in
    1:*) words="{commands}" ;;
{cases}
  esac
  if [[ -n "$words" ]]; then COMPREPLY=($(compgen -W "$words" -- "$word")); fi
  if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _topicschema topicschema
"""
_ZSH: Final = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def run(options: Namespace) -> int:
    """Print the script."""
    print(script(options.shell), end="")
    return COMPATIBLE


def script(shell: str) -> str:
    """The script for `bash` or `zsh`."""
    commands = _commands(arguments.parser())
    cases = "\n".join(line for name, command in commands.items() for line in _cases(name, command))
    return (_ZSH if shell == "zsh" else "") + _SCRIPT.format(commands=" ".join(commands), cases=cases)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next(dict(each.choices) for each in parser._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001  # argparse shows its parts nowhere else


def _cases(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    words: list[str] = []
    for action in _actions(command):
        values = [str(each) for each in action.choices or ()]
        if action.option_strings:
            words += action.option_strings
            if action.nargs != 0:  # it takes a value: one of these, or a file
                yield _case(name, action.option_strings, values)
        else:
            words += values
    if name == "explain":
        words += [rule.id for rule in rules.every()]
    yield f'    *:{name}:*) words="{" ".join(words)}" ;;'


def _actions(command: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """What the command takes, and its own commands, which all take the same."""
    for action in command._actions:  # noqa: SLF001  # as above
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  # as above
            yield from _actions(next(iter(action.choices.values())))


def _case(command: str, options: Iterable[str], values: Iterable[str]) -> str:
    patterns = "|".join(f"*:{command}:{option}" for option in options)
    return f'    {patterns}) words="{" ".join(values)}" ;;'
