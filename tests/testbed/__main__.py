"""`python -m testbed`: surroundings by hand.

up [cluster] [pulsar] [kind]   start these parts (no name: cluster); what runs stays as it is
down [PART ...]                end these parts and forget them (no name: the whole instance)
env                            print what a shell needs: eval "$(python -m testbed env)"
status                         say how the parts are; exit 1 when one is not well

What `up` starts hangs on one detached supervisor.
--name NAME picks one of several instances side by side (default: default).
"""

import argparse
import os
import shlex
import sys

from testbed import instances, parts
from testbed.errors import TestbedError
from testbed.instances import Instance
from testbed.progress import Progress


def up(name: str, wanted: list[str]) -> int:
    """Start the parts in the instance, or what of them does not run."""
    parts.up(name, wanted or ["cluster"], Progress())
    return 0


def down(name: str, unwanted: list[str]) -> int:
    """End the parts, or the whole instance; nothing to end is no error."""
    chosen = [parts.find(part) for part in unwanted]
    with instances.locked(name):
        gone = _stop(name, chosen) if chosen else instances.remove(name)
    print(f"{name}: ended" if gone else f"{name}: nothing is running")
    return 0


def _stop(name: str, chosen: list[parts.Part]) -> bool:
    instance = Instance.find(name)
    if instance is None:
        return False
    for part in chosen:
        part.stop(instance)
    return True


def env(name: str) -> int:
    """Print the shell's variables."""
    instance = _running(name)
    for part in parts.present(instance):
        for line in exports(part.environment(instance)):
            print(line)
    return 0


def exports(variables: dict[str, str]) -> list[str]:
    """The variables as a shell takes them; of PATH only what comes before the present one."""
    lines = []
    for key, value in variables.items():
        present = os.environ.get("PATH", "")
        if key == "PATH" and present and value.endswith(present):
            lines.append(f'export PATH={shlex.quote(value.removesuffix(present))}"$PATH"')
        else:
            lines.append(f"export {key}={shlex.quote(value)}")
    return lines


def status(name: str) -> int:
    """Say how the instance's parts and programs are."""
    instance = Instance.find(name)
    if instance is None:
        left = "; an earlier one was killed, `up` recovers it" if name in instances.names() else ""
        print(f"{name}: not running{left}")
        return 1
    for part in parts.present(instance):
        print(f"{name}: {part.name}: {part.status(instance)}")
    programs = instance.supervision.ask("list")
    for program, state in programs.items():
        ended = state["exit_status"]
        print(f"  {program}: " + (f"pid {state['pid']}" if ended is None else f"ended with status {ended}"))
    return int(any(state["exit_status"] is not None for state in programs.values()))


def _running(name: str) -> Instance:
    instance = Instance.find(name)
    if instance is None:
        raise TestbedError(f"no instance {name!r} is running: python -m testbed up --name {name}")
    return instance


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        "testbed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("up", "down", "env", "status"):
        sub = commands.add_parser(command)
        sub.add_argument("--name", default="default")
        if command in {"up", "down"}:
            sub.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts.NAMES))
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command in {"up", "down"}:
            return {"up": up, "down": down}[chosen.command](chosen.name, chosen.parts)
        return {"env": env, "status": status}[chosen.command](chosen.name)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("testbed: interrupted; the next `up` goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
