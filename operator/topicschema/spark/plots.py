"""Plots as inline SVG: bars by name and bars over time. Figures go in, markup comes out; nothing is left unescaped."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 720
_BAR: Final = 22
_NAME: Final = 300
_FIGURE: Final = 90
_LETTERS: Final = 44
_HEIGHT: Final = 120
_AXIS: Final = 18
_TICKS: Final = 4
_TICK: Final = 100


def by_name(rows: Sequence[tuple[str, int, int]], title: str) -> str:
    """A bar for each (name, value, whole): as long as the value is beside the greatest, with its figure."""
    longest = max((value for _, value, _ in rows), default=0) or 1
    height = _BAR * len(rows) + 4
    return _svg(height, title, (_named_bar(number, row, longest) for number, row in enumerate(rows)))


class Column(NamedTuple):
    """A step of time: its number from the first, when it begins (ISO 8601), and its figure."""

    number: int
    begins: str
    value: int


def over_time(columns: Sequence[Column], title: str, kind: str) -> str:
    """The columns, of the class `kind`, over an axis that tells some of their times."""
    return _svg(_HEIGHT + _AXIS + 12, title, _over_time(columns, kind))


def _named_bar(number: int, row: tuple[str, int, int], longest: int) -> str:
    name, value, whole = row
    top = _BAR * number + 2
    room = WIDTH - _NAME - _FIGURE
    width = max(1 if value else 0, round(room * value / longest))
    shown = name if len(name) <= _LETTERS else f"…{name[-_LETTERS + 1 :]}"
    share = f"{100 * value / whole:.3g} %" if whole else ""
    return (
        f"<g><title>{escape(name)}: {value:,} of {whole:,} ({share})</title>"
        f'<text x="{_NAME - 8}" y="{top + 14}" text-anchor="end">{escape(shown)}</text>'
        f'<rect class="bad" x="{_NAME}" y="{top + 2}" width="{width}" height="{_BAR - 6}" rx="2"/>'
        f'<text class="figure" x="{_NAME + width + 6}" y="{top + 14}">{value:,}</text></g>'
    )


def _over_time(columns: Sequence[Column], kind: str) -> Iterator[str]:
    most = max(each.value for each in columns) or 1
    step = WIDTH / (columns[-1].number + 1)
    floor = 12 + _HEIGHT
    yield f'<text class="figure" x="0" y="10">{most:,}</text>'
    for each in columns:
        if each.value:
            height = max(1.0, round(_HEIGHT * each.value / most, 1))
            yield (
                f'<rect class="{kind}" x="{each.number * step:.2f}" y="{floor - height:.1f}" '
                f'width="{max(1.0, step - min(1.0, step / 4)):.2f}" height="{height:.1f}">'
                f"<title>{escape(each.begins)}: {each.value:,}</title></rect>"
            )
    yield f'<line x1="0" x2="{WIDTH}" y1="{floor}" y2="{floor}"/>'
    yield from _ticks(columns, step)


def _ticks(columns: Sequence[Column], step: float) -> Iterator[str]:
    """The times of some columns, no two of them near each other."""
    last, free = len(columns) - 1, 0.0
    for at in sorted({last * tick // _TICKS for tick in range(_TICKS + 1)}):
        x = (columns[at].number + 0.5) * step
        anchor = "end" if x > WIDTH - _TICK / 2 else "start" if x < _TICK / 2 else "middle"
        begins = {"end": x - _TICK, "start": x, "middle": x - _TICK / 2}[anchor]
        if begins >= free:
            free = begins + _TICK
            when = escape(columns[at].begins[:16].replace("T", " "))
            yield f'<text class="tick" x="{x:.1f}" y="{_HEIGHT + 26}" text-anchor="{anchor}">{when}</text>'


def _svg(height: int, title: str, parts: Iterator[str]) -> str:
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{inner}</svg>'
