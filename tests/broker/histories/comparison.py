"""A history on two topics at once: one with a TopicSchema, one to which the same schemas are sent by the broker's REST.

After each step both have the same versions under the same numbers, or both were refused, and for the same reason.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

from broker.histories import forms
from broker.histories.generator import History
from broker.histories.operator_side import OperatorSide, Ours
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.rest_topic import RestTopic
from support.sizes import SEED
from testbed.pulsar import PULSAR_VERSION, Response
from topicschema.core import broker_errors, formats, jackson
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.jackson import TextReading
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

ON_PURPOSE: Final = frozenset({"INVALID_DEFAULT", "LEGACY_JSON_SCHEMA"})
"""Refused also if the broker accepts them and then fails on everything after; docs/rules.md lists them."""
_PULSAR_VERSION: Final = PulsarVersion(PULSAR_VERSION)
_ANSWERS: Final = frozenset({"", "Incompatible", "InvalidResource", "InvalidSchema", "Registered", "RolledBack"})
"""The reasons of an operator that admits or refuses; the others report another problem."""
LEFT_TO_CHANCE: Final = "more than one imported file defines the name"
"""Refused although the broker may accept it: its choice is the first of a hash table."""
_BY_CHANCE: Final = "left to chance by the broker"


@dataclass(slots=True)
class Tally:
    """The results of all steps so far, by kind; `differences` are the unexpected ones."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def check(self, what: str) -> None:
        """Print it, with the seed that repeats it. Raise AssertionError if anything differed."""
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        report = "\n".join((f"seed {SEED}, {what}: {counts}", *self.differences))
        print(report)  # noqa: T201 - the course of a long run
        assert not self.differences, report

    @property
    def left_open(self) -> int:
        """The number of steps with more than one right status, which prove less."""
        return sum(count for kind, count in self.counts.items() if kind.startswith("left open "))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One history on its two topics."""

    shop: BrokeredShop
    history: History
    tally: Tally

    @property
    def ours(self) -> RestTopic:
        """The operator's topic, as the broker has it."""
        return RestTopic(self.shop.pulsar, self.shop.pulsar_namespace, self.history.name)

    @property
    def theirs(self) -> RestTopic:
        return RestTopic(self.shop.pulsar, self.shop.pulsar_namespace, f"rest-{self.history.name}")

    async def run(self, side: OperatorSide, *, is_reviewed: bool) -> None:
        """Compare step by step, until something differs."""
        stored: SchemaInfo | None = None
        for number, step in enumerate(self.history.steps):
            info = stored if step is None else step
            if step is None:
                await self._delete()
            if info is None:
                continue
            if (
                _PULSAR_VERSION is PulsarVersion.V4_1 and b"$" in info.schema
            ):  # no name of 4.1.0's yet, which the testbed starts
                self.tally.counts["ended by a name with $"] += 1
                return
            if step is None:
                ours = await side.settled(self.history.name)
            else:
                ours = await side.put(self.history.name, forms.spec(step), is_reviewed=is_reviewed)
                is_stored = (
                    ours.version is not None or ours.incompatibilities
                )  # without a webhook refused ones are stored, too
                stored = step if is_stored else stored
            if not await self.agrees(number, ours, info):
                return
        self.tally.counts["histories"] += 1

    async def agrees(self, number: int, ours: Ours, info: SchemaInfo) -> bool:
        """Return True if the broker's response to this schema is the operator's. Add a difference to the tally."""
        difference = await self._difference(ours, info)
        if difference:
            where = f"{self.history.name} ({self.history.strategy}), step {number}"
            self.tally.differences.append(f"{where}: {difference}\n    sent: {info}\n    ours: {ours}")
        return not difference

    async def _delete(self) -> None:
        self.tally.counts["soft deletes"] += 1
        await asyncio.gather(asyncio.to_thread(self.ours.delete), asyncio.to_thread(self.theirs.delete))

    async def _difference(self, ours: Ours, info: SchemaInfo) -> str:
        if ours.reason not in _ANSWERS:
            return f"the operator reports {ours.reason}"
        upload = forms.upload(info)
        on_purpose = _on_purpose(ours, info)
        topic = await asyncio.to_thread(self._copy) if on_purpose else self.theirs
        theirs = await asyncio.to_thread(topic.upload, upload.text, upload.kind, upload.properties)
        if on_purpose and theirs.status == 200:
            self.tally.counts[f"refused on purpose ({on_purpose})"] += 1
            return "" if on_purpose == _BY_CHANCE else await self._unjustified(topic, info)
        if ours.version != number_of(theirs):
            return f"version {ours.version}, the broker has {theirs.status} {number_of(theirs)} {theirs.text[:800]}"
        expected = statuses(ours, info, self.history.strategy)
        self.tally.counts[f"answers {theirs.status}"] += 1
        if len(expected) > 1:
            self.tally.counts[f"left open ({' or '.join(map(str, sorted(expected)))})"] += 1
        if theirs.status not in expected:
            return f"the broker responds {theirs.status}, expected is {sorted(expected)}: {theirs.text[:800]}"
        here, there = await asyncio.gather(*(asyncio.to_thread(versions, each) for each in (self.ours, self.theirs)))
        return "" if here == there else f"the versions differ: {here} and {there}"

    async def _unjustified(self, copy: RestTopic, info: SchemaInfo) -> str:
        """Return the fault of a refusal on purpose: the broker accepted the schema, and later uploads do not fail.

        The broker compares the bytes of pairs, not parsed parts: the same pair does not fail.
        """
        if info.type is SchemaType.KEY_VALUE:
            return ""
        upload = forms.upload(info)
        again = await asyncio.to_thread(copy.upload, upload.text, upload.kind, upload.properties)
        self.tally.counts["failed once accepted"] += again.status == 500
        return "" if again.status == 500 else f"refused on purpose, the broker accepts it twice: {again.status}"

    def _copy(self) -> RestTopic:
        """Return another topic with the same versions, for an upload that would part the two."""
        copy = RestTopic(self.theirs.pulsar, self.theirs.namespace, f"{self.theirs.name}-copy")
        copy.delete(force=True)
        for each in versions(self.theirs):
            copy.upload_version(each["data"], each["type"], each["properties"])
        return copy


def _on_purpose(ours: Ours, info: SchemaInfo) -> str:
    """Return what is refused on purpose even if the broker accepts it, or an empty text."""
    rules = set(ours.rules)
    if LEFT_TO_CHANCE in ours.text:
        return _BY_CHANCE
    if ours.reason == "InvalidSchema" and info.type is SchemaType.KEY_VALUE and _taken_apart(info) is None:
        return "no JSON, though Gson may read it"
    if ours.reason == "InvalidSchema" and any(map(_is_jacksons, _parts(info))):
        rules.add("LEGACY_JSON_SCHEMA")  # `null` is one, too, and no schema to us
    return ", ".join(sorted(rules & ON_PURPOSE))


def _parts(info: SchemaInfo) -> tuple[SchemaInfo, ...]:
    """Return the schema, or the two of a pair."""
    if info.type is not SchemaType.KEY_VALUE:
        return (info,)
    return tuple(part.info for _, part in key_value.decode(info).parts)


def _is_jacksons(info: SchemaInfo) -> bool:
    """Return True if the broker takes it for a JSON Schema of old clients, which Avro does not know."""
    is_tried = info.type is SchemaType.JSON and broker_errors.falls_back_to_jackson(info, _PULSAR_VERSION)
    return is_tried and jackson.reading(info.schema) is TextReading.JSON_SCHEMA


def number_of(answer: Response) -> int | None:
    """Return the version in the broker's response to an upload, None if it refused."""
    number: int | None = answer.json["version"]["version"] if answer.status == 200 else None
    return number


def versions(topic: RestTopic) -> list[dict[str, Any]]:
    """Return the versions that the broker shows, without their times."""
    shown = topic.pulsar.call("GET", f"{topic.schemas}/schemas")["getSchemaResponses"]
    return [{name: value for name, value in each.items() if name != "timestamp"} for each in shown]


def statuses(ours: Ours, info: SchemaInfo, strategy: Strategy) -> set[int]:
    """Return the statuses with which the broker may respond: one, if the rules determine it.

    They do not determine it for a pair, whose parts the broker checks one after the other, nor for findings that no
    status lists.
    """
    rules = set(ours.rules)
    if ours.version is not None:
        return {200}
    if ours.reason != "Incompatible":
        return _of_invalid(info, rules)
    if "INVALID_HISTORY" in rules:
        return {500}
    if not ours.incompatibilities:
        return {409, 500} if rules & broker_errors._THROWS else {409}
    strategy = Strategy.FULL if strategy is Strategy.UNDEFINED else strategy
    return {500} if broker_errors.broker_would_throw(strategy, ours.incompatibilities) else {409}


def _of_invalid(info: SchemaInfo, rules: set[str]) -> set[int]:
    """Return the broker's statuses for an invalid schema. Its dedupe reads defaults, which its validation does not.

    If Avro does not parse a text of type JSON, Jackson reads it. The exception are errors of Avro's parser that the
    broker does not expect, as of some wrong attributes and names.
    """
    if info.type is SchemaType.KEY_VALUE:
        return _of_invalid_pair(info)
    if _parses_without_defaults(info) or "CIRCULAR_IMPORT" in rules:
        return {500}
    if info.type is SchemaType.JSON and broker_errors.falls_back_to_jackson(info, _PULSAR_VERSION):
        if rules & {"INVALID_ATTRIBUTE", "INVALID_NAME"}:
            return {422, 500}
        return {422} if jackson.reading(info.schema) is TextReading.NEITHER else {500}
    return {422}


def _of_invalid_pair(info: SchemaInfo) -> set[int]:
    """Return the status for the first invalid part: the broker checks one after the other.

    500 comes before that if the request cannot be read. An old JSON Schema is accepted, and then cannot be compared.
    """
    taken = _taken_apart(info)
    if taken is None:
        return {422, 500}
    for part in _parts(taken):
        try:
            formats.parse(part, _PULSAR_VERSION, validate_defaults=False)
        except InvalidSchemaError as error:
            if not _is_jacksons(part):
                return _of_invalid(part, {error.rule})
    return {409, 500}


def _taken_apart(info: SchemaInfo) -> SchemaInfo | None:
    """Return the pair as it is stored, None if the request is no JSON. Gson still reads some of that."""
    try:
        return replace(info, schema=key_value.payload_of(forms.upload(info).text))
    except InvalidSchemaError:
        return None


def _parses_without_defaults(info: SchemaInfo) -> bool:
    try:
        formats.parse(info, _PULSAR_VERSION, validate_defaults=False)
    except InvalidSchemaError:
        return False
    return True
