"""Schemas that an audit compares: the current one with each version that has messages, by the product's engine."""

import json
from typing import Any

import pytest

from topicschema.core.schemas import NEWEST, SchemaInfo, SchemaType
from topicschema.spark.audit.survey import namespaces
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.incompatibilities import NO_STRATEGY, ProposedStrategy, VersionComparisons


def info(*fields: Any) -> SchemaInfo:
    listed = [{"name": name, "type": kind, **more} for name, kind, more in fields]
    return SchemaInfo(SchemaType.AVRO, json.dumps({"type": "record", "name": "R", "fields": listed}).encode())


OPTIONAL = ("c", "string", {"default": ""})
VERSIONS = {
    0: info(("a", "int", {}), ("b", "string", {})),
    1: info(("a", {"type": "long", "logicalType": "timestamp-millis"}, {}), OPTIONAL),
    2: SchemaInfo(SchemaType.STRING),
    3: SchemaInfo(SchemaType.AVRO, b'{"type": "recrod"}'),
}
CURRENT = info(("a", "long", {}))


def rules(proposed: str) -> set[tuple[int, str, Any]]:
    findings = ProposedStrategy.parse(proposed).findings(CURRENT, VERSIONS, NEWEST)
    return {(number, each.rule, each.direction) for number, each in findings}


def test_each_version_is_compared_under_the_strategy() -> None:
    assert rules("current") == set()
    broken = {(2, "TYPE_CHANGED", None)}
    backward = rules("backward")
    assert {each for each in backward if each[0] < 3} == broken
    assert [number for number, *_ in backward if number == 3] == [3]
    full = {(0, "FIELD_WITHOUT_DEFAULT", "FORWARD"), (0, "TYPE_MISMATCH", "FORWARD")}
    assert rules("FULL_TRANSITIVE") == backward | full
    assert {each for each in rules("ALWAYS_COMPATIBLE") if each[0] < 3} == set()


def test_strict_has_the_risks_too() -> None:
    more = rules("strict") - rules("FULL_TRANSITIVE")
    assert more
    assert {number for number, *_ in more} <= {0, 1}


def test_versions_are_compared_when_they_arrive() -> None:
    known: dict[int, SchemaInfo | None] = {}
    full = ProposedStrategy.parse("FULL")
    comparisons = VersionComparisons(full, (7, CURRENT), known, NEWEST)
    assert comparisons.of(0) is None
    known |= {0: VERSIONS[0], 6: None, 7: CURRENT}
    assert {each["rule"] for each in comparisons.of(0) or ()} == {"FIELD_WITHOUT_DEFAULT", "TYPE_MISMATCH"}
    assert (comparisons.of(None), comparisons.of(6), comparisons.of(7)) == (None, None, [])
    assert VersionComparisons(full, (None, CURRENT), VERSIONS, NEWEST).of(0) is None
    assert VersionComparisons(NO_STRATEGY, (7, CURRENT), VERSIONS, NEWEST).of(0) is None


@pytest.mark.parametrize("proposed", ["UNDEFINED", "FULL_", ""])
def test_another_name_is_an_error(proposed: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"option proposed: .*; write current, strict or one of ALWAYS_INCOMP"):
        ProposedStrategy.parse(proposed)


class OneTenant:
    def namespaces(self, tenant: str) -> tuple[str, ...]:
        return (f"{tenant}/orders", f"{tenant}/returns", f"{tenant}/old-orders")


def test_namespaces_of_globs() -> None:
    keys = namespaces(OneTenant(), ["shop/*orders", "shop/returns", "shop/orders"])
    assert [each.pulsar_namespace for each in keys] == ["shop/old-orders", "shop/orders", "shop/returns"]
    for glob, message in (("*/orders", "the tenant has no asterisk"), ("shop/x*", "no namespace"), ("shop", "write T")):
        with pytest.raises(InvalidOptionError, match=message):
            namespaces(OneTenant(), [glob])
