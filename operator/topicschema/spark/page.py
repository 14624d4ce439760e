"""A report as a page for people: one HTML file that needs nothing else, from the report's JSON alone.

Imports nothing heavy. All that came from outside (topics, names, paths, values) is escaped; there is no script.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from string import Template
from typing import Any, Final

from topicschema.spark import plots

Row = Mapping[str, Any]
_MOST_BARS: Final = 15
_MOST_ROWS: Final = 50
_STEPS: Final = {1: "hour", 24: "day"}


def page(told: Row) -> str:
    """The page of a report's JSON."""
    passes = told["verdict"] == "Pass"
    return _PAGE.substitute(
        topic=escape(told["topic"]),
        kind="pass" if passes else "fail",
        verdict="The messages can be read" if passes else "Messages cannot be read",
        sentence=escape(_sentence(told)),
        cards="".join(_cards(told)),
        sections="".join(_sections(told)),
        question=escape(told["question"]),
        started=escape(told["startedAt"]),
        seconds=escape(f"{told['seconds']:,}"),
    )


def _sentence(told: Row) -> str:
    allowed = told["maxInvalidPerMillion"]
    tolerance = f"; {allowed:,} in a million may be" if allowed else ""
    return f"{told['invalid']:,} of {told['messages']:,} messages judged are invalid{tolerance}."


def _cards(told: Row) -> Iterator[str]:
    rate = 1_000_000 * told["invalid"] / told["messages"] if told["messages"] else 0
    cards = [("messages judged", told["messages"]), ("invalid", told["invalid"]), ("invalid per million", round(rate))]
    cards += [
        (name, told[member])
        for name, member in (("left out by the sample", "leftOut"), ("gone", "gone"))
        if told[member]
    ]
    for name, value in cards:
        yield f"<div><b>{value:,}</b><span>{escape(name)}</span></div>"


def _sections(told: Row) -> Iterator[str]:
    yield _notes(told["notes"])
    hours = told["byHour"]["rows"]
    if hours:
        step = _STEPS.get(told["byHour"]["step"], "30 days")
        if told["invalid"]:
            yield _section(
                f"Invalid messages by {step}",
                plots.over_time(_columns(told["byHour"], "invalid"), "invalid messages", "bad"),
            )
        yield _section(f"Messages by {step}", plots.over_time(_columns(told["byHour"], "messages"), "messages", "all"))
    yield _bars("Invalid by reason", ((_reason(each), each["messages"]) for each in told["byReason"]), told["invalid"])
    places = ((f"{each['path']} {each['reason']}", each["messages"]) for each in told["byPlace"])
    yield _bars("Invalid by path", places, told["invalid"])
    writers = [(each["name"], each["invalid"]) for each in told["byWriter"]]
    yield _bars("Invalid by writer version", (each for each in writers if each[1]), told["invalid"])
    yield _table("Messages by writer version", told["byWriter"], _WRITER_COLUMNS)
    yield _table("Partitions", told["byPartition"], _PARTITION_COLUMNS)
    yield _table("Read, but not all of it", told["losses"], _LOSS_COLUMNS)
    yield _table("Examples", told["examples"], _EXAMPLE_COLUMNS)
    yield _table("Read up to", [{"name": name, "to": to} for name, to in told["readTo"].items()], _END_COLUMNS)


def _columns(table: Row, member: str) -> list[plots.Column]:
    """A column for each step of time, from the first to the last, also where there were no messages."""
    rows, step = table["rows"], timedelta(hours=table["step"])
    starts = [datetime.fromisoformat(each["from"]) for each in rows]
    return [
        plots.Column(round((start - starts[0]) / step), each["from"], each[member])
        for start, each in zip(starts, rows, strict=True)
    ]


def _reason(row: Row) -> str:
    return f"{row['reason']} (Java reads on)" if row["tolerated"] else str(row["reason"])


def _notes(notes: Sequence[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _bars(title: str, rows: Iterable[tuple[str, int]], whole: int) -> str:
    shown = [(name, value, whole) for name, value in rows][:_MOST_BARS]
    return _section(title, plots.by_name(shown, title)) if shown else ""


def _table(title: str, rows: Sequence[Row], columns: Mapping[str, str]) -> str:
    used = {name: head for name, head in columns.items() if any(row.get(name) is not None for row in rows)}
    if not rows:
        return ""
    heads = "".join(f"<th>{escape(head)}</th>" for head in used.values())
    lines = "".join(f"<tr>{''.join(_cell(row.get(name)) for name in used)}</tr>" for row in rows[:_MOST_ROWS])
    more = f"<p>and {len(rows) - _MOST_ROWS:,} more, in the report</p>" if len(rows) > _MOST_ROWS else ""
    return _section(title, f"<table><tr>{heads}</tr>{lines}</table>{more}")


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    return f'<td class="number">{value:,}</td>' if isinstance(value, int) else f"<td>{escape(str(value))}</td>"


def _section(title: str, inner: str) -> str:
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
_EXAMPLE_COLUMNS: Final = {
    "partition": "partition or file",
    "message": "message",
    "publishedAt": "published",
    "schemaVersion": "version",
    "reason": "reason",
    "path": "path",
    "offset": "byte",
    "value": "value",
}
_END_COLUMNS: Final = {"name": "partition or file", "to": "up to"}
_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$topic</title><style>
:root { color-scheme: light dark; --ink: #1c2430; --dim: #5d6b7d; --paper: #fff; --edge: #dde3ea; --soft: #f5f7fa;
  --bad: #c4314b; --all: #3b7dd8; --good: #1e8a56; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --dim: #97a3b4; --paper: #12161c; --edge: #2a323d;
  --soft: #1a2029; --bad: #f0657e; --all: #6aa5f5; --good: #4cc38a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; }
.topic { color: var(--dim); overflow-wrap: anywhere; margin: 0; }
header { border-left: 6px solid var(--good); padding: .4rem 0 .4rem 1rem; } header.fail { border-color: var(--bad); }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; }
.cards div { background: var(--soft); border: 1px solid var(--edge); border-radius: 8px; padding: .6rem 1rem; }
.cards b { display: block; font-size: 1.4rem; font-variant-numeric: tabular-nums; } .cards span { color: var(--dim); }
section { border: 1px solid var(--edge); border-radius: 8px; padding: 1rem; margin: 1rem 0; overflow-x: auto; }
svg { width: 100%; min-width: 30rem; display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .figure, svg .tick { fill: var(--dim); font-size: 11px; } svg line { stroke: var(--edge); }
.bad { fill: var(--bad); } .all { fill: var(--all); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th { text-align: left; color: var(--dim); }
th, td { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--edge); overflow-wrap: anywhere; }
.number { font-variant-numeric: tabular-nums; }
.note { background: var(--soft); border-radius: 8px; padding: .6rem 1rem; }
footer { color: var(--dim); font-size: .8rem; overflow-wrap: anywhere; }
</style></head><body>
<header class="$kind"><h1>$verdict</h1><p class="topic">$topic</p><p>$sentence</p></header>
<div class="cards">$cards</div>
$sections
<footer>Started $started, took $seconds s. Question $question.</footer>
</body></html>
""")
