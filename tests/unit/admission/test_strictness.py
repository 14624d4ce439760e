"""Risks that the broker accepts: a warning, or refused under a Strict policy."""

import json
from typing import Any

import pytest

from support.kubernetes.admission import World


def suit(*symbols: str) -> str:
    """Return a record with an enum of these symbols, with a default as Avro recommends it."""
    kind = {"type": "enum", "name": "Suit", "symbols": list(symbols), "default": "NONE"}
    return json.dumps({"type": "record", "name": "Card", "fields": [{"name": "suit", "type": kind}]})


def pair(encoding: str) -> dict[str, Any]:
    return {"encoding": encoding, "key": {"type": "STRING"}, "value": {"type": "INT64"}}


BEFORE, AFTER = suit("NONE", "HEARTS", "SPADES"), suit("NONE", "HEARTS")
RULE = "ENUM_SYMBOL_REPLACED"


async def govern(world: World, strictness: str) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", strictness=strictness)
    await world.versions(BEFORE)


async def test_under_broker_the_edit_is_allowed_and_the_risk_is_the_first_warning(world: World) -> None:
    await govern(world, "Broker")
    reply = await world.create(AFTER)
    assert reply.is_allowed
    assert reply.warnings[0].startswith(f"ConsumerRisk: {RULE} at $.fields[0].type after version 0: ")
    assert all("\n" not in warning for warning in reply.warnings)


async def test_one_risk_for_several_versions_has_one_warning(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")
    await world.versions(BEFORE, suit("NONE", "HEARTS"), suit("SPADES", "NONE", "HEARTS"))
    (warning,) = (await world.create(suit("NONE", "HEARTS", "CLUBS"))).warnings
    assert warning.startswith(f"ConsumerRisk: {RULE} at $.fields[0].type after versions 0 and 2: ")


async def test_under_strict_the_refusal_names_the_policy_and_the_broker(world: World) -> None:
    await govern(world, "Strict")
    reply = await world.create(AFTER)
    (cause,) = reply.causes
    assert cause["field"] == "spec.schema"
    assert cause["message"].startswith(f"{RULE} at $.fields[0].type: ")
    assert "Policy orders is Strict: the broker would take it" in cause["message"]
    assert "version 0" in cause["message"]


async def test_a_refusal_of_the_broker_does_not_name_strict(world: World) -> None:
    await govern(world, "Strict")
    reply = await world.create(json.dumps({"type": "record", "name": "Card", "fields": [{"name": "n", "type": "int"}]}))
    assert "BACKWARD (set by policy orders) demands" in reply.causes[0]["message"]
    assert "Strict" not in reply.causes[0]["message"]


async def test_an_edit_to_strict_has_a_warning_of_the_topics_that_would_not_pass(world: World) -> None:
    await world.topic(BEFORE, AFTER)
    reply = await world.edit(await world.policy(schemaCompatibilityStrategy="BACKWARD"), strictness="Strict")
    assert reply.is_allowed
    assert reply.warnings[0].startswith("1 of 1 topics examined would not pass")
    assert f"TopicSchema created: {RULE} at $.fields[0].type after version 0" in reply.warnings[1]


async def test_many_risks_are_counted(world: World) -> None:
    def many(*symbols: str) -> str:
        kinds = ({"type": "enum", "name": f"E{n}", "symbols": list(symbols), "default": "NONE"} for n in range(30))
        fields = [{"name": f"f{n}", "type": kind} for n, kind in enumerate(kinds)]
        return json.dumps({"type": "record", "name": "Card", "fields": fields})

    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(many("NONE", "HEARTS", "SPADES"))
    warnings = (await world.create(many("NONE", "HEARTS"))).warnings
    assert len(warnings) == 11
    assert warnings[-1] == "ConsumerRisk: and 20 more; topicschema check lists all"


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ({"schema": BEFORE}, {"schema": AFTER}, RULE),
        (
            {"schema": "", "type": "KEY_VALUE", "keyValue": pair("SEPARATED")},
            {"keyValue": pair("INLINE")},
            "ENCODING_CHANGED at $",
        ),
    ],
)
async def test_a_pending_edit_counts_too(
    world: World, before: dict[str, Any], after: dict[str, Any], rule: str
) -> None:
    for strictness in ("Broker", "Strict"):
        await world.policy(schemaCompatibilityStrategy="BACKWARD", strictness=strictness)
        reply = await world.edit(world.resource(**before), **after)
        assert reply.is_allowed is (strictness == "Broker")
        assert rule in (reply.warnings[0] if reply.is_allowed else reply.causes[0]["message"])


async def test_a_pending_pair_that_stays_as_it_is_is_not_compared_with_itself(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", strictness="Strict")
    endless = json.dumps({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]})
    value = {"type": "AVRO", "schema": endless}
    old = world.resource(schema="", type="KEY_VALUE", keyValue={**pair("INLINE"), "value": value})
    assert (await world.edit(old, suspend=False)).response == {"uid": "4711", "allowed": True}
