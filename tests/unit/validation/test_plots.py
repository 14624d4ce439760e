"""The layout of plots: names of any length fit, and times do not overlap."""

import re
from itertools import pairwise

import pytest

from topicschema.validation.report import svg_charts


def test_bars_are_relative_to_the_greatest_and_labeled_with_shares_of_the_whole() -> None:
    markup = svg_charts.by_name(
        [svg_charts.Bar("$.id", 300, "TRUNCATED"), svg_charts.Bar("$.<b>", 3), svg_charts.Bar("$", 0)], 60_000
    )
    assert re.findall(r"width:([\d.]+)%", markup) == ["100.00", "1.00", "0.00"]
    assert re.findall(r"<small>([^<]+)</small></span></li>", markup) == ["0.5 %", "&lt; 0.01 %"]
    assert "$.&lt;b&gt;" in markup


@pytest.mark.parametrize(("letters", "is_long"), [(41, False), (42, True)])
def test_a_long_name_is_whole_and_has_a_line_of_its_own(letters: int, is_long: bool) -> None:  # noqa: FBT001 - a parameter of the test
    name = "$." + "x" * (letters - 2)
    markup = svg_charts.by_name([svg_charts.Bar(name, 1, "TRUNCATED")], 1)
    assert name in markup
    assert ('<li class="long">' in markup) == is_long


@pytest.mark.parametrize("steps", [1, 2, 5, 30, 1_000])
def test_times_below_columns_are_as_far_apart_as_they_are_long(steps: int) -> None:
    markup = svg_charts.over_time(
        [svg_charts.ChartColumn(at, f"hour {at}", at) for at in range(steps)], "messages", "all"
    )
    (width,) = map(float, re.findall(r"max-width:([\d.]+)rem", markup))
    middles = [width * float(at) / 100 for at in re.findall(r"left:([\d.]+)%", markup)]
    centres = [3.75, *middles, width - 3.75]
    assert all(later - before >= 7.4 for before, later in pairwise(centres))
    assert (">hour 0<" in markup, f">hour {steps - 1}<" in markup) == (True, True)
    assert len(middles) == (3 if steps >= 30 else 0)
