"""HTML page of a report: one file without external resources, made from the report's JSON alone.

The module needs neither numpy, Arrow nor Spark. All external text (topics, names, paths, values) is escaped, and there
is no script.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from itertools import islice
from string import Template
from typing import Any, Final

from topicschema.validation.report import svg_charts

ReportRow = Mapping[str, Any]
_MOST_BARS: Final = 15
_MOST_ROWS: Final = 50
_FEW_COLUMNS: Final = 3
_LONG: Final = ("name", "path", "to")
_STEPS: Final = {1: "hour", 24: "day"}


def page(report: ReportRow) -> str:
    """Return the HTML page of a report's JSON."""
    passes = report["verdict"] == "Pass"
    return _PAGE.substitute(
        style=STYLE,
        topic=escape(report["topic"]),
        kind="pass" if passes else "fail",
        verdict="The messages can be read" if passes else "Messages cannot be read",
        sentence=escape(_sentence(report)),
        cards="".join(_cards(report)),
        sections="".join(_sections(report)),
        request_hash=escape(report["requestHash"]),
        started=escape(report["startedAt"]),
        seconds=escape(f"{report['seconds']:,}"),
        plan=escape(report["plan"]),
    )


def _sentence(report: ReportRow) -> str:
    allowed = report["maxInvalidPerMillion"]
    tolerance = f"; {allowed:,} in a million may be" if allowed else ""
    return f"{report['invalid']:,} of {report['messages']:,} messages judged are invalid{tolerance}."


def _cards(report: ReportRow) -> Iterator[str]:
    rate = 1_000_000 * report["invalid"] / report["messages"] if report["messages"] else 0
    cards = [
        ("messages judged", report["messages"]),
        ("invalid", report["invalid"]),
        ("invalid per million", round(rate)),
    ]
    cards += [
        (name, report[member])
        for name, member in (
            ("left out by the sample", "leftOut"),
            ("gone", "gone"),
            ("entries without a message", "withheld"),
        )
        if report[member]
    ]
    for name, value in cards:
        yield f"<div><b>{value:,}</b><span>{escape(name)}</span></div>"


def _sections(report: ReportRow) -> Iterator[str]:
    yield _notes(report["notes"])
    hours = report["byHour"]["rows"]
    if hours:
        step = _STEPS.get(report["byHour"]["step"], "30 days")
        if report["invalid"]:
            yield section(
                f"Invalid messages by {step}",
                svg_charts.over_time(_columns(report["byHour"], "invalid"), "invalid messages", "bad"),
            )
        yield section(
            f"Messages by {step}", svg_charts.over_time(_columns(report["byHour"], "messages"), "messages", "all")
        )
    yield _bars("Invalid by reason", map(_reason, report["byReason"]), report["invalid"])
    places = (svg_charts.Bar(each["path"], each["messages"], each["reason"]) for each in report["byPlace"])
    yield _bars("Invalid by path", places, report["invalid"])
    writers = (svg_charts.Bar(each["name"], each["invalid"]) for each in report["byWriter"] if each["invalid"])
    yield _bars("Invalid by writer version", writers, report["invalid"])
    yield _table("Messages by writer version", report["byWriter"], _WRITER_COLUMNS)
    yield _table("Partitions", report["byPartition"], _PARTITION_COLUMNS)
    yield _table("Read, but not all of it", report["losses"], _LOSS_COLUMNS)
    yield _examples(report["examples"])
    yield _table("Read up to", [{"name": name, "to": to} for name, to in report["readTo"].items()], _END_COLUMNS)


def _columns(table: ReportRow, member: str) -> list[svg_charts.ChartColumn]:
    """Return one column for each row of the table, with its number of time steps after the first row."""
    rows, step = table["rows"], timedelta(hours=table["step"])
    length = len("2026-11-22T05:00" if table["step"] == 1 else "2026-11-22")
    starts = [datetime.fromisoformat(each["from"]) for each in rows]
    return [
        svg_charts.ChartColumn(round((start - starts[0]) / step), each["from"][:length].replace("T", " "), each[member])
        for start, each in zip(starts, rows, strict=True)
    ]


def _reason(row: ReportRow) -> svg_charts.Bar:
    return svg_charts.Bar(row["reason"], row["messages"], "Java reads on" if row["tolerated"] else "")


def _notes(notes: Sequence[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _bars(title: str, bars: Iterable[svg_charts.Bar], whole: int) -> str:
    shown = list(islice(bars, _MOST_BARS))
    return section(title, svg_charts.by_name(shown, whole)) if shown else ""


def _table(title: str, rows: Sequence[ReportRow], columns: Mapping[str, str]) -> str:
    used = {name: head for name, head in columns.items() if any(row.get(name) is not None for row in rows)}
    if not rows:
        return ""
    shown = rows[:_MOST_ROWS]
    heads = "".join(f"<th{_kind(name, rows[0].get(name))}>{escape(head)}</th>" for name, head in used.items())
    lines = "".join(f"<tr>{''.join(_cell(row, name, head) for name, head in used.items())}</tr>" for row in shown)
    more = f"<p>and {len(rows) - _MOST_ROWS:,} more, in the report</p>" if len(rows) > _MOST_ROWS else ""
    kind = ' class="many"' if len(used) > _FEW_COLUMNS else ""
    return section(title, f"<table{kind}><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>{more}")


def _cell(row: ReportRow, name: str, head: str) -> str:
    value = row.get(name)
    text = "" if value is None else _text(value)
    return f'<td{_kind(name, value)} data-head="{escape(head)}">{text}</td>'


def _kind(name: str, value: Any) -> str:
    """Return the class attribute of a cell: numbers are aligned, and long text may break anywhere."""
    return ' class="number"' if isinstance(value, int) else ' class="long"' if name in _LONG else ""


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


def _examples(rows: Sequence[ReportRow]) -> str:
    return section("Examples", "".join(map(_example, rows))) if rows else ""


def _example(row: ReportRow) -> str:
    facts = "".join(
        f"<div><dt>{escape(head)}</dt><dd>{escape(str(row[name]))}</dd></div>"
        for name, head in _EXAMPLE_FACTS.items()
        if row.get(name) is not None
    )
    value = f"<pre>{escape(row['value'])}</pre>" if row.get("value") is not None else ""
    return (
        f"<article><h3>{escape(row['reason'])} <span>{escape(row['path'])}</span></h3>{value}<dl>{facts}</dl></article>"
    )


def section(title: str, inner: str) -> str:
    """Return a section. `inner` is markup, and the title is escaped."""
    return f"<section><h2>{escape(title)}</h2>{inner}</section>"


_WRITER_COLUMNS: Final = {
    "name": "written with",
    "messages": "messages",
    "invalid": "invalid",
    "oldest": "oldest",
    "newest": "newest",
}
_PARTITION_COLUMNS: Final = {"name": "partition or file", "messages": "messages", "invalid": "invalid"}
_LOSS_COLUMNS: Final = {"kind": "what is lost", "path": "path", "messages": "messages"}
_EXAMPLE_FACTS: Final = {
    "partition": "partition or file",
    "message": "message",
    "publishedAt": "published",
    "schemaVersion": "version",
    "offset": "byte",
}
_END_COLUMNS: Final = {"name": "partition or file", "to": "up to"}
STYLE: Final = """\
:root { color-scheme: light dark; --ink: #1c2430; --dim: #5d6b7d; --paper: #fff; --edge: #dde3ea; --soft: #f5f7fa;
  --bad: #c4314b; --all: #3b7dd8; --good: #1e8a56; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --dim: #97a3b4; --paper: #12161c; --edge: #2a323d;
  --soft: #1a2029; --bad: #f0657e; --all: #6aa5f5; --good: #4cc38a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; }
.topic { color: var(--dim); overflow-wrap: anywhere; margin: 0; }
header { border-left: 6px solid var(--good); padding: .2rem 0 .2rem 1rem; } header p:last-child { margin-bottom: 0; }
header.fail { border-color: var(--bad); }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; }
.cards div { background: var(--soft); border: 1px solid var(--edge); border-radius: 8px; padding: .6rem 1rem; }
.cards b { display: block; font-size: 1.4rem; font-variant-numeric: tabular-nums; } .cards span { color: var(--dim); }
section { border: 1px solid var(--edge); border-radius: 8px; padding: 1rem; margin: 1rem 0; overflow-x: auto; }
.bars { list-style: none; margin: 0; padding: 0; } .plot, .figure { font-variant-numeric: tabular-nums; }
.bars li { display: grid; grid-template-columns: 2fr 3fr 9rem; gap: .1rem .8rem; align-items: center; }
.bars li { padding: .2rem 0; } .bars .name { overflow-wrap: anywhere; unicode-bidi: isolate; }
.bars .long .name { grid-column: 1 / -1; } .track { grid-column: 2; }
small, .ticks, .plot .figure { color: var(--dim); font-size: .8rem; }
.track { display: block; background: var(--soft); border-radius: 3px; }
.track i { display: block; height: .9rem; min-width: 2px; border-radius: 3px; background: var(--bad); }
svg { width: 100%; height: 8rem; display: block; border-bottom: 1px solid var(--edge); }
.bad { fill: var(--bad); } .all { fill: var(--all); }
.ticks { position: relative; height: 1.3rem; white-space: nowrap; } .ticks span { position: absolute; }
.ticks .last { right: 0; } .ticks .more { transform: translateX(-50%); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; color: var(--dim); vertical-align: bottom; } td { vertical-align: top; white-space: nowrap; }
th, td { padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--edge); }
td.long { white-space: normal; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
th:last-child, td:last-child { padding-right: 0; }
article + article { border-top: 1px solid var(--edge); margin-top: .8rem; padding-top: .8rem; }
article, h3 { overflow-wrap: anywhere; } h3 { font-size: .95rem; margin: 0; } h3 span { font-weight: normal; }
pre { background: var(--soft); border-radius: 6px; padding: .5rem .7rem; margin: .4rem 0; white-space: pre-wrap; }
dl { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; margin: .2rem 0 0; font-size: .85rem; }
dl div { display: flex; }
dt { color: var(--dim); white-space: nowrap; margin-right: .4rem; } dd { margin: 0; }
@media (max-width: 56rem) { .ticks .more { display: none; } }
@media (max-width: 40rem) {
  .bars li { grid-template-columns: 1fr 9rem; } .bars .name { grid-column: 1 / -1; } .track { grid-column: 1; }
  .many thead, .many td:empty { display: none; } .many tr, .many td { display: block; text-align: left; }
  .many td { border: 0; padding: 0; white-space: normal; }
  .many tr { padding: .4rem 0; border-bottom: 1px solid var(--edge); }
  .many td:not(:first-child)::before { content: attr(data-head) " "; color: var(--dim); }
}
.note { background: var(--soft); border-radius: 8px; padding: .6rem 1rem; }
footer { color: var(--dim); font-size: .8rem; overflow-wrap: anywhere; }
"""
"""Style sheet of pages with charts, for light and dark screens."""
_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$topic</title><style>
$style</style></head><body>
<header class="$kind"><h1>$verdict</h1><p class="topic">$topic</p><p>$sentence</p></header>
<div class="cards">$cards</div>
$sections
<footer>Started $started, took $seconds s: $plan. Request $request_hash.</footer>
</body></html>
""")
