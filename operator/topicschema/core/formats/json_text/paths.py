"""JSON paths (`$.fields[2].type`) and places in a text."""

import json
import re

from topicschema.core.errors import Place

_STEP = re.compile(r'\.([^.\[]+)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]')
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LINE_END = re.compile(r"\r\n|\r|\n")

TextStep = str | int


def member(path: str, name: str) -> str:
    """Return the JSON path of an object's member: `$.a`, or `$["a b"]` if the name is not a plain word."""
    return f"{path}.{name}" if _PLAIN.match(name) else f"{path}[{json.dumps(name)}]"


def steps_of(path: str) -> tuple[TextStep, ...]:
    """Return the names and indexes of a path."""
    steps = _STEP.findall(path)
    return tuple(int(index) if index else name or json.loads(quoted) for name, index, quoted in steps)


def place_of(text: str, offset: int, path: str = "$") -> Place:
    """Return the Place of the character at `offset`."""
    starts = [match.end() for match in _LINE_END.finditer(text, 0, offset)]
    return Place(path, len(starts) + 1, offset - (starts[-1] if starts else 0) + 1)
