"""Charts: bars by name, and columns over time as inline SVG. They take figures and return escaped markup.

Charts adapt to the width of the page, which also has their style sheet.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

_FEWEST: Final = 720
"""Minimum width of a column, as the number of such columns that fill the chart."""
_FULL: Final = 100
_TICKS: Final = 4
_WIDEST: Final = 58.0
_NARROWEST: Final = 18.0
_STEP: Final = 4.0
_LABEL: Final = 7.5
"""Width of a label, in rem.

The three constants above are the maximum width of a chart, its minimum width and the width of a column, also in rem.
"""
_LONG: Final = 50
"""Characters above which a name gets a line of its own."""


class Bar(NamedTuple):
    """One bar: its name, its figure, and a note beside the name."""

    name: str
    value: int
    beside: str = ""


class ChartColumn(NamedTuple):
    """One time step: its number from the first, the text of its begin, and its figure."""

    number: int
    begins: str
    value: int


def by_name(bars: Sequence[Bar], whole: int) -> str:
    """Return a list of bars, relative to the longest, with their figures and their shares of the whole."""
    longest = max((each.value for each in bars), default=0) or 1
    return f'<ul class="bars">{"".join(_bar(each, longest, whole) for each in bars)}</ul>'


def over_time(columns: Sequence[ChartColumn], title: str, kind: str) -> str:
    """Return a chart of the columns, with the class `kind`, over a time axis with a few labels."""
    steps = columns[-1].number + 1
    width = min(_WIDEST, max(_NARROWEST, _STEP * steps))
    most = max(each.value for each in columns) or 1
    drawn = "".join(_columns(columns, most, kind))
    return (
        f'<div class="plot" style="max-width:{width:g}rem"><span class="figure">{most:,}</span>'
        f'<svg viewBox="0 0 {steps} {_FULL}" preserveAspectRatio="none" role="img" aria-label="{escape(title)}">'
        f'{drawn}</svg><div class="ticks">{"".join(_ticks(columns, width))}</div></div>'
    )


def _bar(bar: Bar, longest: int, whole: int) -> str:
    kind = ' class="long"' if len(bar.name) + len(bar.beside) > _LONG else ""
    beside = f" <small>{escape(bar.beside)}</small>" if bar.beside else ""
    return (
        f'<li{kind}><span class="name">{escape(bar.name)}{beside}</span>'
        f'<span class="track"><i style="width:{_FULL * bar.value / longest:.2f}%"></i></span>'
        f'<span class="figure">{bar.value:,} <small>{_share(bar.value, whole)}</small></span></li>'
    )


def _share(value: int, whole: int) -> str:
    """Return the share in percent, or "" if it is 0."""
    share = _FULL * value / whole if whole else 0.0
    least = 0.01
    return "" if not share else f"{share:.3g} %" if share >= least else f"&lt; {least} %"


def _columns(columns: Sequence[ChartColumn], most: int, kind: str) -> Iterator[str]:
    width = max(0.8, (columns[-1].number + 1) / _FEWEST)
    for each in columns:
        if each.value:
            height = max(1.0, _FULL * each.value / most)
            yield (
                f'<rect class="{kind}" x="{each.number + 0.1:.1f}" y="{_FULL - height:.1f}" '
                f'width="{width:.2f}" height="{height:.1f}"><title>{escape(each.begins)}: {each.value:,}</title></rect>'
            )


def _ticks(columns: Sequence[ChartColumn], width: float) -> Iterator[str]:
    """Yield the labels of some columns without overlap, always with the first and the last one."""
    last = len(columns) - 1
    yield f'<span class="first">{escape(columns[0].begins)}</span>'
    free = 1.5 * _LABEL
    for at in [last * tick // _TICKS for tick in range(1, _TICKS)]:
        middle = (columns[at].number + 0.5) / (columns[-1].number + 1)
        if free <= middle * width <= width - 1.5 * _LABEL:
            free = middle * width + _LABEL
            yield f'<span class="more" style="left:{_FULL * middle:.2f}%">{escape(columns[at].begins)}</span>'
    if last:
        yield f'<span class="last">{escape(columns[-1].begins)}</span>'
