"""JSON texts that take long to read: read in pieces, while others go on.

A thread would not help: Python's own reader of JSON lets nobody else in until it has read all.
"""

import asyncio
import json
import re
from typing import Any, Final

_LARGE: Final = 1 << 18
_PIECE: Final = 1 << 16
_OPENED: Final = re.compile(r'[ \t\r\n]*(?:\{[ \t\r\n]*"(?P<name>[A-Za-z]+)"[ \t\r\n]*:[ \t\r\n]*)?\[[ \t\r\n]*')
_BETWEEN: Final = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


async def read(body: bytes) -> Any:
    """What `json.loads` makes of the body; ValueError and RecursionError as there.

    A list, or an object with nothing but one, is read member by member. What is of another shape, and a single member,
    is read at once however long it is.
    """
    if len(body) < _LARGE:
        return json.loads(body)
    return await _in_pieces(body.decode("utf-8", "surrogatepass"))


async def _in_pieces(text: str) -> Any:
    opened = _OPENED.match(text)
    if opened is None:
        return json.loads(text)
    members, end = await _members(text, opened.end())
    rest = text[end:].strip(" \t\r\n")
    if rest != ("" if opened["name"] is None else "}"):
        return json.loads(text)  # it has more members
    return members if opened["name"] is None else {opened["name"]: members}


async def _members(text: str, start: int) -> tuple[list[Any], int]:
    """The members of the list that was opened before `start`, and where it ends."""
    found: list[Any] = []
    if text.startswith("]", start):
        return found, start + 1
    pause = start + _PIECE
    while True:
        member, end = _DECODER.raw_decode(text, start)
        found.append(member)
        after = _BETWEEN.match(text, end)
        if after is None:
            raise json.JSONDecodeError("a list goes on with a comma", text, end)
        if after[1] == "]":
            return found, after.end(1)
        start = after.end()
        if start >= pause:
            pause = start + _PIECE
            await asyncio.sleep(0)
