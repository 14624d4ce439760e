"""Output of `validate-messages`: the verdict, the invalid places, examples, the writers, and a progress bar."""

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, TextIO

from topicschema.cli.check.excerpt import printable
from topicschema.cli.check.text import judged_by, wrapped

OutputRow = Mapping[str, Any]
_PLACES: Final = 20
_WIDTH: Final = 30
_TICK: Final = 0.2
_USUAL: Final = 80
"""Columns of a terminal that does not report its width."""


def lines(report: OutputRow, *, writers: bool) -> Iterator[str]:
    """Yield the lines for a report's JSON."""
    messages, invalid = report["messages"], report["invalid"]
    verdict = "pass" if report["verdict"] == "Pass" else "do not pass"
    yield from wrapped(f"{messages:,} messages judged, {invalid:,} invalid: they {verdict}")
    allowed = report["maxInvalidPerMillion"]
    if allowed and invalid:
        yield f"{1_000_000 * invalid / messages:,.0f} in a million are; {allowed:,} may be"
    for note in report["notes"]:
        yield from wrapped(note)
    yield from _places(report["byPlace"])
    yield from _losses(report["losses"])
    yield from _examples(report["examples"])
    if report["byPlace"] or report["losses"]:
        yield ""
        yield "What a reason means and what to do: docs/validation-reasons.md"
    if writers and report["byWriter"]:
        yield from _writers(report["byWriter"])
    yield judged_by(report["pulsarVersion"])


class ProgressBar:
    """A progress bar on a terminal. It prints nothing elsewhere."""

    def __init__(self, stream: TextIO, unit: str = "messages") -> None:
        self._stream = stream
        self._unit = unit
        self._is_shown = stream.isatty()
        self._next = 0.0

    def __call__(self, done: int, whole: int) -> None:
        """Show the number of messages, or of another unit, that are done, of about `whole`."""
        if not self._is_shown or (time.monotonic() < self._next and done < whole):
            return
        self._next = time.monotonic() + _TICK
        share = min(1.0, done / whole) if whole else 1.0
        full = round(_WIDTH * share)
        unit = self._unit.removesuffix("s") if whole == 1 else self._unit
        text = f"[{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%} of about {whole:,} {unit} "
        self._stream.write("\r" + text[: self._columns() - 1])
        self._stream.flush()

    def _columns(self) -> int:
        """Return the terminal's width. A bar on two rows could not be removed."""
        return os.get_terminal_size(self._stream.fileno()).columns or _USUAL

    def clear(self) -> None:
        """Remove the bar."""
        if self._is_shown and self._next:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _places(rows: list[OutputRow]) -> Iterator[str]:
    if rows:
        yield ""
    for each in rows[:_PLACES]:
        yield f"{each['messages']:>12,}  {each['reason']} at {printable(each['path'])}"
    if len(rows) > _PLACES:
        yield f"… {len(rows) - _PLACES} more (see --report)"


def _losses(rows: list[OutputRow]) -> Iterator[str]:
    if rows:
        yield ""
        yield "Readable, but values are lost:"
    for each in rows[:_PLACES]:
        yield f"{each['messages']:>12,}  {each['kind']} at {printable(each['path'])}"


def _examples(rows: list[OutputRow]) -> Iterator[str]:
    if rows:
        yield ""
        yield "Examples"
    for each in rows:
        byte = "" if each["offset"] is None else f", byte {each['offset']}"
        version = "" if each["schemaVersion"] is None else f", version {each['schemaVersion']}"
        published = "" if each["publishedAt"] is None else f", published {each['publishedAt']}"
        yield f"  {printable(each['partition'])} {each['message']}{version}{published}"
        yield f"    {each['reason']} at {printable(each['path'])}{byte}"
        if "value" in each:
            yield f"    {printable(each['value'])}"


def _writers(rows: list[OutputRow]) -> Iterator[str]:
    yield ""
    yield f"{'messages':>12}  {'invalid':>10}  {'oldest':20}  {'newest':20}  written with"
    for each in rows:
        oldest, newest = each["oldest"] or "", each["newest"] or ""
        yield f"{each['messages']:>12,}  {each['invalid']:>10,}  {oldest:20}  {newest:20}  {each['name']}"
