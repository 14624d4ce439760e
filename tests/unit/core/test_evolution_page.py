"""docs/evolution.md has the verdicts of the code that the webhook runs, and an order in which every client connects."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from support.judged import verdict
from support.schemas.examples import parsed
from support.schemas.protobuf_schemas import envelope
from topicschema.core import formats
from topicschema.core.clients import Client, ConnectOutcome, TopicState, connect
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy

PAGE = (Path(__file__).parents[3] / "docs" / "evolution.md").read_text(encoding="utf-8")
SIDES = (Strategy.BACKWARD, Strategy.FORWARD, Strategy.FULL)
JUDGING = tuple(each for each in Strategy if each.directions)


def table(header: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the table whose header begins so."""
    [rows] = re.findall(rf"^\| {header} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    for row in rows.splitlines():
        yield [cell.strip() for cell in row.strip("|").split("|")]


def field(written: str) -> dict[str, Any]:
    """Return the field that the page writes as `name: type = default` or `name: type, alias other`."""
    name, _, rest = written.partition(": ")
    rest, _, alias = rest.partition(", alias ")
    kind, _, default = rest.partition(" = ")
    made = {"name": name, "type": json.loads(kind) if kind[0] in "[{" else kind}
    return made | ({"default": json.loads(default)} if default else {}) | ({"aliases": [alias]} if alias else {})


def order(*fields: str, kind: SchemaType = SchemaType.AVRO) -> Schema:
    """Return a record with `id` and these fields."""
    members = list(map(field, ["id: string", *fields]))
    return parsed(kind, json.dumps({"type": "record", "name": "Order", "fields": members}))


def judged(before: Schema, after: Schema, *strategies: Strategy) -> tuple[list[str], set[str]]:
    """Return the word for each strategy, and the rules by which a policy refuses the edit."""
    answers, rules = list[str](), set[str]()
    for strategy in strategies:
        accepted, strict = (verdict(after, [before], Policy(strategy, each)) for each in Strictness)
        answers.append("yes" if strict.is_compatible else "risk" if accepted.is_compatible else "no")
        rules |= {each.rule for each in strict.incompatibilities}
    return answers, rules


def test_each_strategy_compares_with_the_versions_of_the_table_and_names_who_is_upgraded_first() -> None:
    integer = order("x: int = 0")
    text = order('x: string = ""')
    for name, _, compared, accepted, first in table(r"strategy \| a new schema must"):
        strategy = Strategy(name.strip("`"))
        answer = verdict(text, [integer, order()], Policy(strategy))
        assert answer.is_compatible is (accepted == "yes"), name
        assert strategy.upgrade_first == first
        if strategy.directions:
            assert strategy.is_transitive is (compared == "all versions"), name
        assert verdict(integer, [integer, order()], Policy(strategy)).is_compatible, "a version of the topic"


CHANGES = list(table(r"change \| before"))


@pytest.mark.parametrize(("title", "before", "after", "backward", "forward", "full", "rule"), CHANGES)
def test_a_change_of_fields_has_its_verdicts(  # noqa: PLR0913, PLR0917 - the columns
    title: str, before: str, after: str, backward: str, forward: str, full: str, rule: str
) -> None:
    fields = [re.findall(r"`([^`]+)`", cell) for cell in (before, after)]
    answers, rules = judged(*(order(*each) for each in fields), *SIDES)
    assert answers == [backward, forward, full]
    assert set(re.findall(r"\[(\w+)\]", rule)) == rules
    of_json, _ = judged(*(order(*each, kind=SchemaType.JSON) for each in fields), *SIDES)
    assert of_json == answers or "alias" in title or "bytes" in after
    assert [each == "no" for each in of_json] == [each == "no" for each in answers]


def test_one_more_kind_of_event_is_compatible_under_backward() -> None:
    [block] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    before = yaml.safe_load(block)["spec"]["schema"]
    after = json.loads(before)
    deleted = {"type": "record", "name": "UserDeleted", "fields": [{"name": "reason", "type": "string"}]}
    after["fields"][0]["type"].append(deleted)
    schemas = (parsed(SchemaType.AVRO, each) for each in (before, json.dumps(after)))
    assert judged(*schemas, *SIDES)[0] == ["yes", "no", "no"]


def message(name: str, number: int) -> Schema:
    """Return a PROTOBUF_NATIVE message with one field of that number."""
    files = FileDescriptorSet()
    file = files.file.add(name="m.proto", package="p", syntax="proto3")
    file.message_type.add(name=name).field.add(name="id", number=number, type=9, label=1)
    return parsed(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope(files, f"p.{name}", "m.proto")))


def pair(value: Schema, encoding: Encoding = Encoding.INLINE) -> Schema:
    """Return a KEY_VALUE with a text as key."""
    parts = KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(value.info), encoding)
    return formats.parse(encode(parts, {}))


TEXT, NUMBER = "x: string", "x: int"
OF_TYPES = {
    "AVRO to JSON": (order(), order(kind=SchemaType.JSON)),
    "STRING without a text, then with Python's `null`": (parsed(SchemaType.STRING), parsed(SchemaType.STRING, "null")),
    "PROTOBUF: a field from string to int": (
        order(TEXT, kind=SchemaType.PROTOBUF),
        order(NUMBER, kind=SchemaType.PROTOBUF),
    ),
    "PROTOBUF_NATIVE: another number of a field": (message("M", 1), message("M", 2)),
    "PROTOBUF_NATIVE: another root message": (message("M", 1), message("N", 1)),
    "KEY_VALUE: a field of the value from string to int": (pair(order(TEXT)), pair(order(NUMBER))),
    "KEY_VALUE: a new field with a default, and SEPARATED instead of INLINE": (
        pair(order()),
        pair(order('x: string = ""'), Encoding.SEPARATED),
    ),
}


def test_changes_of_other_types_have_their_verdicts() -> None:
    rows = {title: cells for title, *cells in table(r"change \| BACKWARD to FULL_TRANSITIVE")}
    assert rows.keys() == OF_TYPES.keys()
    for title, (word, incompatible, compatible, rule) in rows.items():
        answers, rules = judged(*OF_TYPES[title], *JUDGING)
        assert set(answers) == {word}, title
        assert set(re.findall(r"\[(\w+)\]", rule)) == rules, title
        ends, _ = judged(*OF_TYPES[title], Strategy.ALWAYS_INCOMPATIBLE, Strategy.ALWAYS_COMPATIBLE)
        assert ends == [incompatible, compatible], title


EDITS = {
    "BACKWARD": (order(TEXT), order()),  # the new schema reads the old one's messages, and not the reverse
    "FORWARD": (order(), order(TEXT)),
    "FULL": (order(), order('x: string = ""')),
}
ORDERS = [
    (Strategy(name), steps) for names, *steps in table(r"strategy \| first") for name in re.findall(r"`(\w+)`", names)
]


def refusals(strategy: Strategy, steps: list[str], *, allows: bool) -> list[str]:
    """Return the clients that may not reconnect, with the step after which it happens."""
    old, new = (each.info for each in EDITS[strategy.removesuffix("_TRANSITIVE")])
    versions, clients, refused = (old,), {"consumers": [old], "producers": [old]}, list[str]()
    for step in steps:
        if step == "TopicSchema":
            versions = (old, new)
        for who in ("consumers", "producers"):
            # While clients are upgraded, both schemas connect.
            connecting = [old, new] if who == step else clients[who]
            client = Client.CONSUMER if who == "consumers" else Client.PRODUCER
            for sent in connecting:
                answer = connect(client, sent, TopicState(versions, strategy, allows_auto_update=allows))
                refused += [] if answer.may_connect else [f"{step}: {who}"]
                assert answer.outcome is not ConnectOutcome.REGISTERS_VERSION, "the TopicSchema is first"
        if step != "TopicSchema":
            clients[step] = [new]
    return refused


@pytest.mark.parametrize("allows", [True, False])
@pytest.mark.parametrize(("strategy", "steps"), ORDERS)
def test_every_client_may_reconnect_after_each_step_of_the_order(
    strategy: Strategy, steps: list[str], *, allows: bool
) -> None:
    assert refusals(strategy, steps, allows=allows) == []
    if strategy.upgrade_first.lower() in {"consumers", "producers"}:
        assert strategy.upgrade_first.lower() == next(each for each in steps if each != "TopicSchema")
    else:
        assert refusals(strategy, [steps[0], steps[2], steps[1]], allows=allows) == []


@pytest.mark.parametrize(
    ("strategy", "steps", "refused"),
    [
        (Strategy.BACKWARD, ["TopicSchema", "consumers", "producers"], "TopicSchema: consumers"),
        (Strategy.FORWARD, ["consumers", "TopicSchema", "producers"], "consumers: consumers"),
    ],
)
def test_another_order_refuses_consumers(strategy: Strategy, steps: list[str], refused: str) -> None:
    assert refused in refusals(strategy, steps, allows=False)


def test_the_page_has_the_strategy_of_each_deprecated_value() -> None:
    rows = {value.strip("`"): strategy.strip("`") for value, strategy in table(r"value \| strategy")}
    assert rows == {name: strategy.value for name, strategy in BY_AUTO_UPDATE_NAME.items()}
