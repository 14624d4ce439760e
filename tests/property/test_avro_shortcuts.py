"""Shortcuts of a comparison give the same answer as the comparison."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.schemas.avro import field, parsed, record
from support.sizes import sized
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.formats.format import Mismatch

KINDS = ("int", "long", "string", ["null", "int"], {"type": "array", "items": "int"})


def small(rng: random.Random, name: str, kinds: tuple[Any, ...]) -> dict[str, Any]:
    fields = [field(each, rng.choice(kinds)) for each in rng.sample("abc", rng.randint(0, 3))]
    for each in fields:
        if rng.random() < 0.4:
            each["default"] = rng.choice((0, None, "x", []))
    return record(name, *fields, doc=rng.choice(("", "words")))


def wide(rng: random.Random, names: str = "PQRSTUV") -> dict[str, Any]:
    """Return a record with a wide union of small records, some of which hold the others."""
    made: list[Any] = []
    for name in rng.sample(names, 5):
        inner = tuple(each["name"] for each in made)
        made.append(small(rng, name, KINDS + inner))
    fields = field("u", made), field("v", rng.choice(("int", ["null", made[0]["name"]])))
    return record("Root", *fields)


def with_circle(reader: dict[str, Any]) -> dict[str, Any]:
    """Return the same reader, but of a kind without a cache, for which every branch is tried."""
    circle = record("Circle", field("next", ["null", "Circle"], default=None))
    return {**reader, "fields": [*reader["fields"], field("w", ["null", circle], default=None)]}


def with_aliases(rng: random.Random, reader: dict[str, Any], writer: dict[str, Any]) -> dict[str, Any]:
    """Return the same reader, some of its records and fields with names that the writer has."""
    branches, written = reader["fields"][0]["type"], writer["fields"][0]["type"]
    names = rng.sample([each["name"] for each in written], 2)
    aliased = [
        {**each, "aliases": [names.pop()]} if names and rng.random() < 0.4 else each  # of one or two of them
        for each in branches
    ]
    return {**reader, "fields": [{**reader["fields"][0], "type": aliased}, *reader["fields"][1:]]}


def places_of(mismatches: tuple[Mismatch, ...]) -> list[tuple[str, str, str]]:
    """Return rules and places."""
    return [(each.rule, each.reader_path, each.writer_path) for each in mismatches]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_history_is_judged_alike_with_branches_of_the_same_name_and_by_trials(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  # a seed, not a secret
    texts = [wide(rng) for _ in range(4)]
    cached = [parsed(text) for text in texts]
    for _ in range(2):
        for reader, text in zip(cached, texts, strict=True):
            for writer, written in zip(cached, texts, strict=True):
                mismatches = resolver.unreadable(reader, writer)
                assert mismatches == resolver.unreadable(parsed(text), parsed(written))
                assert places_of(mismatches) == places_of(
                    resolver.unreadable(parsed(with_circle(text)), parsed(written))
                )


@pytest.mark.parametrize("has_aliases", [False, True])
@settings(max_examples=sized(60, 200), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_record_of_another_name_goes_to_the_branch_that_a_trial_of_all_selects(
    seed: int, *, has_aliases: bool
) -> None:
    rng = random.Random(seed)  # noqa: S311  # a seed, not a secret
    reader, writer = wide(rng), wide(rng, names="HIJKLPQ")
    if has_aliases:
        reader = with_aliases(rng, reader, writer)
    mismatches = resolver.unreadable(parsed(reader), parsed(writer))
    assert places_of(mismatches) == places_of(resolver.unreadable(parsed(with_circle(reader)), parsed(writer)))
