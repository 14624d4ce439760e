"""The parts of a testbed, as plug-ins of one protocol."""

from collections.abc import Sequence
from typing import Protocol

from testbed import instances
from testbed.cluster_part import ClusterPart
from testbed.errors import TestbedError
from testbed.instances import Instance
from testbed.kind_part import KindPart
from testbed.progress import Progress
from testbed.pulsar_part import PulsarPart


class Part(Protocol):
    """One piece of surroundings. Its state is in the instance's folder, under its name."""

    name: str

    def prepare(self, progress: Progress) -> None:
        """Fetch and build what starting needs: slow once, then cached; safe to interrupt and under several callers."""

    def start(self, instance: Instance, progress: Progress) -> None:
        """Start what does not run and return when it answers; what runs stays as it is."""

    def environment(self, instance: Instance) -> dict[str, str]:
        """The variables by which programs find it."""

    def stop(self, instance: Instance) -> None:
        """End its programs and forget its state; the rest of the instance stays."""

    def status(self, instance: Instance) -> str:
        """One line on how it is."""


_PARTS: dict[str, Part] = {"cluster": ClusterPart(), "pulsar": PulsarPart(), "kind": KindPart()}
NAMES = tuple(_PARTS)


def find(name: str) -> Part:
    """The part of that name; TestbedError when there is none."""
    if name not in _PARTS:
        raise TestbedError(f"there is no part {name!r}; there is {', '.join(_PARTS)}")
    return _PARTS[name]


def up(name: str, wanted: Sequence[str], progress: Progress) -> Instance:
    """The detached instance of that name, in which the parts run; what runs already stays as it is."""
    chosen = [find(part) for part in wanted]
    for part in chosen:
        part.prepare(progress)
    with instances.locked(name):
        instance = Instance.open(name)
        for part in chosen:
            progress.step(f"{part.name}: starting what does not run")
            part.start(instance, progress)
            progress.say(f"{part.name}: {part.status(instance)}")
    return instance


def present(instance: Instance) -> list[Part]:
    """The parts that were started in the instance."""
    return [part for name, part in _PARTS.items() if (instance.folder / name).is_dir()]
