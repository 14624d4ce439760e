"""`topicschema completion`: a script that completes commands, options, their values and TopicSchemas in bash and zsh.

shtab generates it from the parser, so it is always complete.
"""

import argparse
import shlex
from typing import Any, Final

import shtab

from topicschema.cli import arguments, rules
from topicschema.cli.exits import COMPATIBLE
from topicschema.cli.rules import reasons

_RULES: Final = {
    "bash": '_topicschema_rules() {{ compgen -W "{ids}" -- "$1"; }}',
    "zsh": "_topicschema_rules() {{ compadd {ids}; }}",
}
_NAMES: Final = "kubectl get topicschemas -o 'jsonpath={.items[*].metadata.name}' 2>/dev/null"
_TOPICS: Final = {
    "bash": f'_topicschema_topics() {{ compgen -W "$({_NAMES})" -- "$1"; }}',
    "zsh": f"_topicschema_topics() {{ compadd $({_NAMES}); }}",
}
_COMPLETED: Final = {
    **dict.fromkeys(("FILE", "IMPORTED", "MESSAGES", "PATH", "PAYLOAD", "SCHEMA", "VALUE"), shtab.FILE),
    "DIR": shtab.DIRECTORY,
    "RULE|REASON": dict.fromkeys(_RULES, "_topicschema_rules"),
    "TOPIC|NAME": dict.fromkeys(_TOPICS, "_topicschema_topics"),
}
"""Completion of an argument, by its metavar."""
_ZSH: Final = "autoload -U +X compinit && compinit\neval {script}\n"
"""shtab's script for zsh registers itself if it is evaluated, but not if it is sourced."""


class _Parser(argparse.ArgumentParser):
    """A parser that marks its arguments for shtab."""

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        if action.metavar in _COMPLETED:
            action.complete = _COMPLETED[action.metavar]  # type: ignore[attr-defined]  # shtab's own
        return action


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print(script(options.shell), end="")
    return COMPATIBLE


def script(shell: str) -> str:
    """Return the script for `bash` or `zsh`."""
    ids = " ".join((*(rule.id for rule in rules.every()), *reasons.every()))
    functions = f"{_RULES[shell].format(ids=ids)}\n{_TOPICS[shell]}"
    made = shtab.complete(arguments.parser(_Parser), shell, preamble=functions) + "\n"
    return _ZSH.format(script=shlex.quote(made)) if shell == "zsh" else made
