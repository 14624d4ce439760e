"""HTML page of an audit's tables: one file without script and external resources, a row for each topic.

All external text (topics, paths, errors) is escaped.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

from topicschema.spark.audit.application import PARQUET, read_table
from topicschema.validation.report import svg_charts
from topicschema.validation.report.html_report import STYLE, section

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_TOPICS: Final = 200
_MOST_VERSIONS: Final = 6
_MOST_DAYS: Final = 400
_MOST_BARS: Final = 15


@dataclass(slots=True)
class TopicOnPage:
    """A topic: its rows of the tables `topics` and `verdicts`, its messages by version and day, and its findings."""

    topic: Mapping[str, Any]
    verdict: Mapping[str, Any]
    days: dict[int | None, dict[date, int]] = field(default_factory=lambda: defaultdict(dict))
    findings: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """Number of messages with a fault."""
        return int(self.verdict.get("losses") or 0) + int(self.verdict.get("unreadable") or 0)


def page_of(session: "SparkSession", output: Path | str, table_format: str = PARQUET) -> str:
    """Return the HTML page of the last complete audit in the folder `output`."""
    rows = {name: read_table(session, output, name, table_format) for name in ("topics", "verdicts")}
    verdicts = {row.topic: row.asDict() for row in rows["verdicts"].collect()}
    topics = [TopicOnPage(row.asDict(), verdicts.get(row.topic, {})) for row in rows["topics"].collect()]
    shown = sorted(topics, key=_badness)[:_MOST_TOPICS]
    by_name = {each.topic["topic"]: each for each in shown}
    by_day = read_table(session, output, "messages_by_version", table_format)
    counted = by_day.groupBy("topic", "schema_version", "day").sum("messages")
    for name, version, day, messages in counted.where(counted.topic.isin(list(by_name))).collect():
        by_name[name].days[version] |= {} if day is None else {day: messages}
    findings = read_table(session, output, "findings", table_format)
    for row in findings.where(findings.topic.isin(list(by_name))).collect():
        by_name[row.topic].findings.append(row.asDict())
    return page(topics, shown)


def page(topics: Sequence[TopicOnPage], shown: Sequence[TopicOnPage]) -> str:
    """Return the page of all topics, with the details of the shown ones."""
    unread = sum(each.topic["error"] is not None for each in topics)
    bad = sum(each.bad for each in topics)
    cards = {
        "topics": len(topics),
        "messages": sum(each.topic["messages"] or 0 for each in topics),
        "messages with a fault": bad,
        "topics that could not be read": unread,
    }
    more = f"<p>and {len(topics) - len(shown):,} more, in the tables</p>" if len(topics) > len(shown) else ""
    return _PAGE.substitute(
        style=STYLE + _STYLE,
        kind="fail" if bad or unread else "pass",
        verdict="Messages cannot be read" if bad else "Topics could not be read" if unread else "All can be read",
        cards="".join(f"<div><b>{value:,}</b><span>{escape(name)}</span></div>" for name, value in cards.items()),
        rows="".join(map(_row, shown)),
        more=more,
        sections="".join(map(_details, shown)),
    )


def _badness(topic: TopicOnPage) -> tuple[bool, int, int, str]:
    """Return the key by which topics that need attention are first."""
    return (topic.topic["error"] is None, -topic.bad, -(topic.topic["messages"] or 0), topic.topic["topic"])


def _row(topic: TopicOnPage) -> str:
    row = topic.topic
    if row["error"] is not None:
        cells = f'<td class="long" colspan="6">{escape(row["error"])}</td>'
    else:
        numbers = (row["messages"], topic.bad, row["messages_without_version"], row["version_in_use"])
        cells = "".join(f'<td class="number">{"" if each is None else f"{each:,}"}</td>' for each in numbers)
        versions = ", ".join(map(str, sorted(each for each in topic.days if each is not None)))
        cells += f'<td class="long">{versions}</td><td class="long">{_numbers(row["forgettable_versions"])}</td>'
    return f'<tr><td class="long">{escape(row["topic"])}</td>{cells}</tr>'


def _numbers(values: Sequence[int] | None) -> str:
    return "not known" if values is None else ", ".join(map(str, values))


def _details(topic: TopicOnPage) -> str:
    """Return the plots of a topic, or nothing if it has none."""
    inner = "".join((*_plots(topic), *_rules(topic)))
    return section(topic.topic["topic"], inner) if inner else ""


def _plots(topic: TopicOnPage) -> Iterator[str]:
    """Yield the messages by day of the versions with the most messages."""
    ordered = sorted(topic.days.items(), key=lambda each: (-sum(each[1].values()), -1 if each[0] is None else each[0]))
    for version, days in ((version, days) for version, days in ordered[:_MOST_VERSIONS] if days):
        name = "no version" if version is None else f"version {version}"
        chart = svg_charts.over_time(_columns(days), f"messages of {name} by day", "all")
        yield f'<div class="small"><h3>Messages of {name} by day</h3>{chart}</div>'
    if len(ordered) > _MOST_VERSIONS:
        yield f"<p>and {len(ordered) - _MOST_VERSIONS:,} more versions, in the tables</p>"


def _columns(days: Mapping[date, int]) -> list[svg_charts.ChartColumn]:
    chosen = sorted(days)[-_MOST_DAYS:]
    return [svg_charts.ChartColumn((each - chosen[0]).days, each.isoformat(), days[each]) for each in chosen]


def _rules(topic: TopicOnPage) -> Iterator[str]:
    """Yield the bars of messages with a fault by reason, and of messages of versions that a rule concerns."""
    faults = [each for each in topic.findings if each["reason"] is not None]
    rules = [each for each in topic.findings if each["rule"] is not None]
    for title, rows, name in (("Bad messages", faults, "reason"), ("Messages of incompatible versions", rules, "rule")):
        if rows:
            bars = sorted(map(_bar(name), rows), key=lambda each: (-each.value, each.name, each.beside))
            yield f"<h3>{title}</h3>{svg_charts.by_name(bars[:_MOST_BARS], topic.topic['messages'] or 0)}"


def _bar(name: str) -> Any:
    def bar(row: Mapping[str, Any]) -> svg_charts.Bar:
        version = "no version" if row["schema_version"] is None else f"version {row['schema_version']}"
        return svg_charts.Bar(f"{row[name]} at {row['path']}", row["messages"], version)

    return bar


_STYLE: Final = """.small { display: inline-block; vertical-align: top; width: 18rem; margin: 0 1rem .5rem 0; }
.small svg { height: 4rem; } section > h3 { margin-top: .6rem; } section h2 { overflow-wrap: anywhere; }
body { max-width: 72rem; }
"""
_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit of retained messages</title><style>
$style</style></head><body>
<header class="$kind"><h1>$verdict</h1>
<p class="topic">Retained messages, read with the current schema of each topic</p></header>
<div class="cards">$cards</div>
<section><h2>Topics</h2><table><thead><tr><th>topic</th><th class="number">messages</th>
<th class="number">with a fault</th>
<th class="number">without a version</th><th class="number">newest version</th><th>versions with messages</th>
<th>versions to forget</th></tr></thead><tbody>$rows</tbody></table>$more</section>
$sections
</body></html>
""")
