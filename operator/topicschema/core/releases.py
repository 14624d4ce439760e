"""The Pulsar version whose rules a broker's release follows. Pure."""

import re
from operator import itemgetter
from typing import Final

from topicschema.core.schemas import NEWEST, PulsarVersion

_RELEASE: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})(?![0-9])[0-9A-Za-z.+_-]{0,40}")
# Source: apache/pulsar#25461; 5.0.0-M1 has it, 4.2.4 does not.
_REPLICATORS_REGISTER: Final = (5, 0)
_OLDEST: Final = next(iter(PulsarVersion))


def release_of(text: str) -> str | None:
    """Return the release in a broker's answer, for instance `4.0.7` or `5.0.0-M1`, or None if it has none."""
    match = _RELEASE.match(text.strip())
    return None if match is None else match[0]


def judging_version(release: str) -> PulsarVersion | None:
    """Return the Pulsar version whose rules apply to a release, or None if the text is no release.

    It is the newest one that is not newer than the release, or the oldest one.
    """
    number = _number(release)
    return None if number is None else next((each for each, known in _NEWEST_FIRST if known <= number), _OLDEST)


def unknown_note(release: str) -> str:
    """Return a note if the operator does not know the rules of this release, else ""."""
    judging = judging_version(release)
    if judging is None or _number(release) == _number(judging):
        return ""
    known = f"which this operator does not know (it knows {_OLDEST} to {NEWEST})"
    return f"the broker is {release}, {known}: topics are judged by the rules of {judging}"


def lets_replicators_register(release: str | None) -> bool:
    """Return True if a broker of this release lets replicators register schemas in a locked Pulsar namespace."""
    number = None if release is None else _number(release)
    return number is not None and number >= _REPLICATORS_REGISTER


def _number(release: str) -> tuple[int, int] | None:
    match = _RELEASE.match(release)
    return None if match is None else (int(match[1]), int(match[2]))


_NUMBERED = ((each, _number(each) or (0, 0)) for each in PulsarVersion)
_NEWEST_FIRST: Final = sorted(_NUMBERED, key=itemgetter(1), reverse=True)
