"""The result: rows of figures beside their anchors."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Goal:
    """The upper or lower bound of a figure in `unit`; of its ratio to the anchor's without a unit."""

    bound: float
    at_most: bool
    unit: str | None = None

    def is_met(self, value: float, ratio: float) -> bool:
        """Return True if the figure, or its ratio, is within the bound."""
        measured = ratio if self.unit is None else value
        return measured <= self.bound if self.at_most else measured >= self.bound

    def __str__(self) -> str:
        """Return the goal for the table."""
        unit = "x" if self.unit is None else f" {self.unit}"
        return f"{'≤' if self.at_most else '≥'} {self.bound:g}{unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Row:
    """One figure; `anchor`, `ratio` and `goal` are None where there is nothing to compare with."""

    name: str
    value: float
    unit: str
    anchor: str | None = None
    anchor_value: float | None = None
    ratio: float | None = None
    goal: str | None = None
    met: bool | None = None


def row(name: str, value: float, unit: str) -> Row:
    """Return a figure alone."""
    return Row(name, _short(value), unit)


def beside(name: str, value: float, unit: str, anchor: tuple[str, float], goal: Goal | None = None) -> Row:
    """Return a figure, its anchor's from the same run, and their ratio."""
    ratio = value / anchor[1] if anchor[1] else float("nan")
    met = None if goal is None else goal.is_met(value, ratio)
    return Row(
        name,
        _short(value),
        unit,
        anchor[0],
        _short(anchor[1]),
        round(ratio, 3),
        None if goal is None else str(goal),
        met,
    )


def bounded(name: str, value: float, unit: str, at_most: float) -> Row:
    """Return a figure that has a bound of its own."""
    goal = Goal(at_most, at_most=True, unit=unit)
    return Row(name, _short(value), unit, goal=str(goal), met=goal.is_met(value, 0))


def _short(value: float) -> float:
    return round(value, 1 if value >= 100 else 3)


def write(rows: Iterable[Row], path: Path) -> None:
    """Write the rows into `path`. Rows of other names or anchors that are there already stay."""
    fresh = {(one.name, one.anchor): asdict(one) for one in rows}
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    merged = {(one["name"], one["anchor"]): one for one in stored} | fresh
    path.write_text(json.dumps(list(merged.values()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table(rows: Iterable[Row]) -> str:
    """Return the rows for people, in Markdown."""
    lines = ["| what | value | anchor | ratio | goal |", "|---|---|---|---|---|"]
    for one in rows:
        anchor = "" if one.anchor is None else f"{one.anchor}: {one.anchor_value:g}"
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        goal = "" if one.goal is None else f"{one.goal} {'met' if one.met else 'NOT met'}"
        lines.append(f"| {one.name} | {one.value:g} {one.unit} | {anchor} | {ratio} | {goal} |")
    return "\n".join(lines)
