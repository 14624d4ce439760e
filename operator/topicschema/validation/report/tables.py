"""Tables of a report from a tally's figures: summed, sorted, the most frequent first, of bounded length."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any, Final

from topicschema.validation.report.bounded_counter import ANY, DAY, MONTH
from topicschema.validation.report.tally import EXAMPLES, UNKNOWN_WRITER, MessageExample, Tally
from topicschema.validation.run.batches import DAMAGED, ENCRYPTED, INVALID_KEY, NO_VERSION
from topicschema.validation.sources import OWN_WRITERS, Plan

Row = dict[str, Any]
MOST_ROWS: Final = 200
MOST_HOURS: Final = 1_000
_DAYS_UP_TO: Final = 2
"""Highest level of the tally's tables at which hours are joined to days. Above, they are joined to months."""
_REASON, _PATH, _WRITER, _PARTITION, _HOUR = range(5)
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_HOUR: Final = int((datetime(9999, 1, 1, tzinfo=UTC) - _FIRST) / timedelta(hours=1))
_SPECIAL: Final = {
    NO_VERSION: "no version",
    UNKNOWN_WRITER: "unknown versions",
    ENCRYPTED: "encrypted",
    DAMAGED: "damaged",
    INVALID_KEY: "key not in base64",
    ANY: "any version",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Tables of a tally."""

    tally: Tally
    plan: Plan

    def reasons(self) -> list[Row]:
        """Return the number of messages for each reason."""
        sums = self._bad(_REASON)
        return [
            {"reason": reason, "messages": count, "tolerated": reason in self.tally.tolerated}
            for reason, count in _most(sums)
        ]

    def places(self) -> list[Row]:
        """Return the number of messages for each reason and path."""
        sums: Counter[tuple[str, str]] = Counter()
        for key, count in self.tally.findings.counts.items():
            sums[key[_REASON], key[_PATH]] += count
        return [
            {"reason": reason, "path": path, "messages": count} for (reason, path), count in _most(sums)[:MOST_ROWS]
        ]

    def writers(self) -> list[Row]:
        """Return a row for each writer version: messages, invalid ones, oldest and newest publish time."""
        bad = self._bad(_WRITER)
        return [
            {
                "schemaVersion": writer if writer >= 0 else None,
                "name": writer_name(writer),
                "messages": times.messages,
                "invalid": bad[writer],
                "oldest": moment(times.oldest),
                "newest": moment(times.newest),
            }
            for writer, times in sorted(self.tally.writers.items(), reverse=True)
        ]

    def partitions(self) -> list[Row]:
        """Return the partitions (or files) with the most invalid messages, then those with the most messages."""
        bad, all_ = self._bad(_PARTITION), self._all(1)
        if ANY in bad or ANY in all_:  # one table alone would show 0 invalid messages
            bad, all_ = Counter({ANY: bad.total()}), Counter({ANY: all_.total()})
        ordered = sorted(all_, key=lambda each: (-bad[each], -all_[each], each))
        return [
            {"name": self._partition(each), "messages": all_[each], "invalid": bad[each]}
            for each in ordered[:MOST_ROWS]
        ]

    def hours(self) -> Row:
        """Return messages by publish time, in steps of `step` hours. There are no rows if the hours are lost."""
        bad, all_ = self._bad(_HOUR), self._all(2)
        wide = self._width
        if ANY in bad or ANY in all_:
            return {"step": wide, "rows": []}
        known = {hour: count for hour, count in _wider(all_, wide).items() if 0 <= hour < _LAST_HOUR}
        if len(known) > MOST_HOURS:
            wide = DAY if wide < DAY else MONTH
            known = {hour: count for hour, count in _wider(all_, wide).items() if 0 <= hour < _LAST_HOUR}
        wrong = _wider(bad, wide)
        rows = [
            {"from": moment(hour * 3_600_000), "messages": known[hour], "invalid": wrong[hour]}
            for hour in sorted(known)
        ]
        return {"step": wide, "rows": rows[-MOST_HOURS:]}

    def losses(self) -> list[Row]:
        """Return the losses of readers with the candidate in messages that they can read."""
        sums: Counter[tuple[str, str]] = Counter()
        for (kind, path, _), count in self.tally.losses.counts.items():
            sums[kind, path] += count
        return [{"kind": kind, "path": path, "messages": count} for (kind, path), count in _most(sums)[:MOST_ROWS]]

    @property
    def _width(self) -> int:
        """Hours of the shortest period that both tables distinguish."""
        levels = self.tally.traffic.level, self.tally.findings.level
        return MONTH if max(levels) > _DAYS_UP_TO else DAY if max(levels) else 1

    def _partition(self, number: int) -> str:
        if number == ANY:
            return "all partitions"
        return self.plan.names[number] if 0 <= number < len(self.plan.names) else str(number)

    def _bad(self, position: int) -> Counter[Any]:
        return _summed(self.tally.findings.counts, position)

    def _all(self, position: int) -> Counter[Any]:
        return _summed(self.tally.traffic.counts, position)


def shown_examples(tally: Tally, plan: Plan) -> list[Row]:
    """Return the examples of the report, taken from the reasons in turn.

    So the most frequent reason does not displace the others.
    """
    turns = zip_longest(*(ranked for _, ranked in sorted(tally.examples.items())))
    chosen = [each for turn in turns for each in turn if each is not None][:EXAMPLES]
    return [_shown(each, plan) for each in chosen]


def writer_name(writer: int) -> str:
    """Return the name of a writer for users."""
    if writer in _SPECIAL:
        return _SPECIAL[writer]
    return f"schema of files {OWN_WRITERS - writer + 1}" if writer <= OWN_WRITERS else f"version {writer}"


def moment(milliseconds: int) -> str | None:
    """Return the time in UTC. Return None if there is none, or none that a calendar has."""
    if milliseconds < 0 or milliseconds // 3_600_000 >= _LAST_HOUR:
        return None
    return (_FIRST + timedelta(milliseconds=milliseconds)).isoformat(timespec="seconds").replace("+00:00", "Z")


def _shown(example: MessageExample, plan: Plan) -> Row:
    partition, ledger, entry, index = example.place
    is_file = 0 <= ledger < len(plan.files)
    where = [entry] if is_file else [ledger, entry]
    named = plan.names[partition] if 0 <= partition < len(plan.names) else str(partition)
    shown = {
        "message": ":".join(map(str, where + ([index] if index >= 0 else []))),
        "partition": plan.files[ledger] if is_file else named,
        "publishedAt": moment(example.publish_time),
        "schemaVersion": example.writer if example.writer >= 0 else None,
        "reason": example.reason,
        "path": example.path,
        "offset": example.offset if example.offset >= 0 else None,
    }
    return shown if example.value is None else shown | {"value": example.value}


def _summed(counts: Mapping[tuple[Any, ...], int], position: int) -> Counter[Any]:
    sums: Counter[Any] = Counter()
    for key, count in counts.items():
        sums[key[position]] += count
    return sums


def _wider(counts: Mapping[int, int], width: int) -> Counter[int]:
    sums: Counter[int] = Counter()
    for hour, count in counts.items():
        sums[hour if hour < 0 else hour // width * width] += count
    return sums


def _most(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
