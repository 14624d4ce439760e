"""Exceptions of a policy for one topic, effective and ended."""

from typing import Any

import pytest

from support.kubernetes.admission import ID, V0, World, new_policy, record_schema

ANY = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"}
CLASHING, ANOTHER = record_schema({"name": "total", "type": "string"}), record_schema(ID, {"name": "b", "type": "int"})
GONE, FAR = "2020-12-31", "2999-12-31"


def exception(until: str = FAR, **members: Any) -> dict[str, Any]:
    fixed = {"topic": "created", "allowedStrategies": ["ALWAYS_COMPATIBLE"], "reason": "v1 clients are gone"}
    return {**fixed, "until": until, **members}


async def govern(world: World, *exceptions: dict[str, Any]) -> None:
    await world.policy(schemaCompatibilityStrategy="FULL", constraints={"exceptions": list(exceptions)})
    await world.versions(V0)


async def test_an_exception_admits_its_topic_and_is_named(world: World) -> None:
    await govern(world, exception())
    reply = await world.create(CLASHING, **ANY)
    assert reply.is_allowed
    assert any("until 2999-12-31 (v1 clients are gone)" in warning for warning in reply.warnings)
    (cause,) = (await world.create(CLASHING)).causes[:1]
    assert "an exception of the policy lets this topic set ALWAYS_COMPATIBLE until 2999-12-31" in cause["message"]


async def test_an_exception_of_another_topic_admits_nothing(world: World) -> None:
    await govern(world, exception(topic="deleted"))
    assert (await world.create(CLASHING, **ANY)).rules == ["STRATEGY_NOT_ALLOWED"]


@pytest.mark.parametrize("spec", [ANY, {}])
async def test_a_refusal_after_the_end_names_the_ended_exception(world: World, spec: dict[str, str]) -> None:
    await govern(world, exception(GONE))
    for cause in (await world.create(ANOTHER, **spec)).causes:
        assert "which allowed ALWAYS_COMPATIBLE until 2020-12-31 (v1 clients are gone), has ended" in cause["message"]


async def test_an_edit_of_another_field_is_admitted_after_the_end(world: World) -> None:
    await govern(world, exception(GONE))
    reply = await world.edit(world.resource(**ANY), suspend=True)
    assert reply.is_allowed
    assert "has ended" in reply.warnings[0]


async def test_an_end_in_the_past_has_a_warning(world: World) -> None:
    world.registry()
    reply = await world.review(new_policy(constraints={"exceptions": [exception(), exception(GONE, topic="deleted")]}))
    assert reply.is_allowed
    assert [each for each in reply.warnings if "exceptions" in each] == [
        "spec.constraints.exceptions[1].until: 2020-12-31 is past, so the exception for topic deleted allows nothing"
    ]
