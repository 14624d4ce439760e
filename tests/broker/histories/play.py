"""A history on two topics at once: one with a TopicSchema, one to which the same schemas are sent by the broker's REST.

After each step both have the same versions under the same numbers, or both were refused, and for the same reason.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

from broker.histories import sent
from broker.histories.making import History
from broker.histories.operator_side import OperatorSide, Ours
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.rest_topic import RestTopic
from support.sizes import SEED
from testbed.pulsar import PULSAR_VERSION, Response
from topicschema.core import broker_errors, formats, jackson
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.jackson import Reading
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

ON_PURPOSE: Final = frozenset({"INVALID_DEFAULT", "LEGACY_JSON_SCHEMA"})
"""Refused also where the broker takes them, and then chokes on everything after; docs/rules.md says so."""
_PULSAR_VERSION: Final = PulsarVersion(PULSAR_VERSION)
_ANSWERS: Final = frozenset({"", "Incompatible", "InvalidResource", "InvalidSchema", "Registered", "RolledBack"})
"""The reasons of an operator that says yes or no; the others say that something else is wrong."""
LEFT_TO_CHANCE: Final = "more than one imported file defines the name"
"""Refused although the broker may take it: what it takes then is what comes first in a hash table."""
_BY_CHANCE: Final = "left to chance by the broker"


@dataclass(slots=True)
class Tally:
    """What came of all steps so far, by kind; `differences` tell what should not have come."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def prove(self, what: str) -> None:
        """Print it, with the seed that repeats it; AssertionError where anything differed."""
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        told = "\n".join((f"seed {SEED}, {what}: {counts}", *self.differences))
        print(told)  # noqa: T201 - the course of a long run
        assert not self.differences, told

    @property
    def left_open(self) -> int:
        """How often more than one status would have been right, which proves less."""
        return sum(count for kind, count in self.counts.items() if kind.startswith("left open "))


@dataclass(frozen=True, slots=True)
class Match:
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

    async def play(self, side: OperatorSide, *, is_reviewed: bool) -> None:
        """Step by step, until something differs."""
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
                ours = await side.put(self.history.name, sent.spec(step), is_reviewed=is_reviewed)
                is_stored = ours.version is not None or ours.found  # without a webhook what is refused is stored, too
                stored = step if is_stored else stored
            if not await self.agrees(number, ours, info):
                return
        self.tally.counts["histories"] += 1

    async def agrees(self, number: int, ours: Ours, info: SchemaInfo) -> bool:
        """Whether the broker says of this schema what the operator says; what differs is on the tally."""
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
            return f"the operator says {ours.reason}"
        upload = sent.upload(info)
        on_purpose = _on_purpose(ours, info)
        asked = await asyncio.to_thread(self._copy) if on_purpose else self.theirs
        theirs = await asyncio.to_thread(asked.upload, upload.text, upload.kind, upload.properties)
        if on_purpose and theirs.status == 200:
            self.tally.counts[f"refused on purpose ({on_purpose})"] += 1
            return "" if on_purpose == _BY_CHANCE else await self._unjustified(asked, info)
        if ours.version != number_of(theirs):
            return f"version {ours.version}, the broker says {theirs.status} {number_of(theirs)} {theirs.text[:800]}"
        expected = statuses(ours, info, self.history.strategy)
        self.tally.counts[f"answers {theirs.status}"] += 1
        if len(expected) > 1:
            self.tally.counts[f"left open ({' or '.join(map(str, sorted(expected)))})"] += 1
        if theirs.status not in expected:
            return f"the broker says {theirs.status}, expected is {sorted(expected)}: {theirs.text[:800]}"
        here, there = await asyncio.gather(*(asyncio.to_thread(versions, each) for each in (self.ours, self.theirs)))
        return "" if here == there else f"the versions differ: {here} and {there}"

    async def _unjustified(self, copy: RestTopic, info: SchemaInfo) -> str:
        """What is wrong with a refusal on purpose: the broker took the schema, and does not choke on it ever after.

        Of a pair the broker compares bytes, not parsed parts: it does not choke on the same pair.
        """
        if info.type is SchemaType.KEY_VALUE:
            return ""
        upload = sent.upload(info)
        again = await asyncio.to_thread(copy.upload, upload.text, upload.kind, upload.properties)
        self.tally.counts["choked on once taken"] += again.status == 500
        return "" if again.status == 500 else f"refused on purpose, the broker takes it twice: {again.status}"

    def _copy(self) -> RestTopic:
        """Another topic with the same versions, to ask for what would part the two."""
        copy = RestTopic(self.theirs.pulsar, self.theirs.namespace, f"{self.theirs.name}-copy")
        copy.delete(force=True)
        for each in versions(self.theirs):
            copy.upload_version(each["data"], each["type"], each["properties"])
        return copy


def _on_purpose(ours: Ours, info: SchemaInfo) -> str:
    """What is refused on purpose even where the broker takes it; empty where nothing of the kind is refused."""
    rules = set(ours.rules)
    if LEFT_TO_CHANCE in ours.text:
        return _BY_CHANCE
    if ours.reason == "InvalidSchema" and info.type is SchemaType.KEY_VALUE and _taken_apart(info) is None:
        return "no JSON, though Gson may read it"
    if ours.reason == "InvalidSchema" and any(map(_is_jacksons, _parts(info))):
        rules.add("LEGACY_JSON_SCHEMA")  # `null` is one, too, and no schema to us
    return ", ".join(sorted(rules & ON_PURPOSE))


def _parts(info: SchemaInfo) -> tuple[SchemaInfo, ...]:
    """The schema, or the two of a pair."""
    if info.type is not SchemaType.KEY_VALUE:
        return (info,)
    return tuple(part.info for _, part in key_value.decode(info).parts)


def _is_jacksons(info: SchemaInfo) -> bool:
    """Whether the broker takes it for a JSON Schema of old clients, of which Avro knows nothing."""
    is_asked = info.type is SchemaType.JSON and broker_errors.falls_back_to_jackson(info, _PULSAR_VERSION)
    return is_asked and jackson.reading(info.schema) is Reading.JSON_SCHEMA


def number_of(answer: Response) -> int | None:
    """The version in the broker's answer to an upload; None where it refused."""
    number: int | None = answer.json["version"]["version"] if answer.status == 200 else None
    return number


def versions(topic: RestTopic) -> list[dict[str, Any]]:
    """The versions that the broker shows, with all that it tells of each but when it came."""
    found = topic.pulsar.call("GET", f"{topic.schemas}/schemas")["getSchemaResponses"]
    return [{name: value for name, value in each.items() if name != "timestamp"} for each in found]


def statuses(ours: Ours, info: SchemaInfo, strategy: Strategy) -> set[int]:
    """What the broker may answer where the operator says this: one status, but where only more than rules would tell.

    That is so of a pair, whose parts the broker asks one after the other, and of findings that no status lists.
    """
    rules = set(ours.rules)
    if ours.version is not None:
        return {200}
    if ours.reason != "Incompatible":
        return _of_invalid(info, rules)
    if "INVALID_HISTORY" in rules:
        return {500}
    if not ours.found:
        return {409, 500} if rules & broker_errors._THROWS else {409}
    strategy = Strategy.FULL if strategy is Strategy.UNDEFINED else strategy
    return {500} if broker_errors.broker_would_throw(strategy, ours.found) else {409}


def _of_invalid(info: SchemaInfo, rules: set[str]) -> set[int]:
    """What the broker answers to what is no schema; its dedupe reads defaults, which its validation does not.

    A text of type JSON that Avro does not parse is Jackson's to read, unless Avro's parser ended with an exception that
    the broker does not expect, as of some wrong attributes and names.
    """
    if info.type is SchemaType.KEY_VALUE:
        return _of_invalid_pair(info)
    if _parses_without_defaults(info) or "CIRCULAR_IMPORT" in rules:
        return {500}
    if info.type is SchemaType.JSON and broker_errors.falls_back_to_jackson(info, _PULSAR_VERSION):
        if rules & {"INVALID_ATTRIBUTE", "INVALID_NAME"}:
            return {422, 500}
        return {422} if jackson.reading(info.schema) is Reading.NEITHER else {500}
    return {422}


def _of_invalid_pair(info: SchemaInfo) -> set[int]:
    """The answer to the first part that is no schema: the broker asks one after the other.

    500 comes before that where the request cannot be read. An old JSON Schema passes, and then cannot be compared.
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
    """The pair as it is stored; None where the request is no JSON. Gson reads some of that all the same."""
    try:
        return replace(info, schema=key_value.payload_of(sent.upload(info).text))
    except InvalidSchemaError:
        return None


def _parses_without_defaults(info: SchemaInfo) -> bool:
    try:
        formats.parse(info, _PULSAR_VERSION, validate_defaults=False)
    except InvalidSchemaError:
        return False
    return True
