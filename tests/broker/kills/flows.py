"""The flows whose broker calls are enumerated: the state before, the edit of a person, and the state in the end.

The controller's process does all of it; `before` runs undisturbed, and the controller is killed during the effects of
`act`.
"""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from broker.kills.hold import ANY_CALL, ANY_WRITE, Place
from support.pulsar.brokered_topic import CLASHING, ONE, OTHER, THREE, TWO, BrokeredTopic
from testbed import broker_faults
from testbed.calls import Fault
from topicschema.core.remote import Setting, TopicSettings
from topicschema.core.strategies import Strategy

ORDER = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'
PAIR = {
    "type": "KEY_VALUE",
    "keyValue": {"encoding": "SEPARATED", "key": {"type": "STRING"}, "value": {"type": "AVRO", "schema": ONE}},
}
SOURCES = {"type": "PROTOBUF_NATIVE", "protobuf": {"message": "shop.Order", "files": {"shop/order.proto": ORDER}}}
SET = {"schemaCompatibilityStrategy": "FORWARD", "isAllowAutoUpdateSchema": False, "schemaValidationEnforced": True}

refused: Fault = broker_faults.when(
    lambda call: call.method == "POST" and call.path.endswith("/schema"), broker_faults.status(409)
)


async def nothing_more(_: BrokeredTopic) -> None:
    """Check nothing else."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow, as above. `end` is Ready's reason and the versions in effect; without a reason none stay.

    `writes` is the number of the flow's writes at the broker. `fault` is the broker's own, and lasts.
    """

    name: str
    before: Callable[[BrokeredTopic], Awaitable[None]]
    act: Callable[[BrokeredTopic], Awaitable[None]]
    end: tuple[str, list[int]]
    after: Callable[[BrokeredTopic], Awaitable[None]] = nothing_more
    fault: Fault = broker_faults.forward
    writes: int = 1

    def places(self) -> Iterator[Place]:
        """Yield three places that every run reaches: the number of reads may differ, that of writes does not."""
        kind = ANY_WRITE if self.writes else ANY_CALL
        yield Place(ANY_CALL, 1, is_before=True)
        yield Place(kind, 1, is_before=False)
        if self.writes:
            yield Place(ANY_WRITE, self.writes, is_before=True)


async def governed(topic: BrokeredTopic) -> None:
    await to_thread(topic.shop.govern, schemaCompatibilityStrategy="FULL")
    await topic.shop.policy_ready("Active")


async def registered(topic: BrokeredTopic, schema: str, **spec: Any) -> None:
    await topic.edit(schema, **spec)
    await topic.ready()


async def one(topic: BrokeredTopic) -> None:
    await governed(topic)
    await registered(topic, ONE, deletionPolicy="Delete")


async def two(topic: BrokeredTopic) -> None:
    await one(topic)
    await registered(topic, TWO, deletionPolicy="Delete")


async def of_others(topic: BrokeredTopic) -> None:
    await governed(topic)
    for schema in (ONE, TWO):
        await to_thread(topic.rest.upload_version, schema)


async def existing(topic: BrokeredTopic) -> None:
    await to_thread(topic.create)
    await one(topic)


async def unset(topic: BrokeredTopic) -> None:
    """Prepare a policy that leaves the settings to others, who set them."""
    for setting in ("isAllowAutoUpdateSchema", "schemaValidationEnforced"):
        await to_thread(topic.shop.set, "POST", setting, setting == "isAllowAutoUpdateSchema")
    await to_thread(topic.shop.set, "PUT", "schemaCompatibilityStrategy", "FULL")
    await to_thread(topic.shop.govern)
    await topic.shop.policy_ready("Active")
    await registered(topic, ONE)


async def local(topic: BrokeredTopic) -> None:
    """Register three versions while the registry named no broker."""
    watched = topic.shop.watched
    await to_thread(watched.govern, schemaCompatibilityStrategy="FULL")
    await watched.policy_ready("Active")
    for schema in (ONE, TWO, THREE):
        await registered(topic, schema)
    assert topic.rest.versions() == []


async def displaced(topic: BrokeredTopic) -> None:
    """Make the same history, while the broker got another first version."""
    await local(topic)
    await to_thread(topic.rest.upload_version, OTHER)


def _own(topic: BrokeredTopic, setting: str) -> Any:
    return topic.shop.pulsar.call("GET", f"{topic.rest.itself}/{setting}")


def _is_alone(topic: BrokeredTopic) -> bool:
    """Return True if the topic's own strategy left the namespace's as it was."""
    return topic.shop.broker_settings()["schemaCompatibilityStrategy"] == "FULL" and not topic.namespace_writes


async def is_overridden(topic: BrokeredTopic) -> None:
    assert _is_alone(topic)
    assert _own(topic, "schemaCompatibilityStrategy") == "ALWAYS_COMPATIBLE"
    assert _own(topic, "schemaValidationEnforced") is True
    recorded = (await topic.history()).topic_settings
    assert recorded is not None
    assert recorded.written == TopicSettings(Strategy.ALWAYS_COMPATIBLE, enforces_validation=True)


async def is_overridden_alone(topic: BrokeredTopic) -> None:
    assert _is_alone(topic)
    assert _own(topic, "schemaCompatibilityStrategy") == "ALWAYS_COMPATIBLE"


async def is_set(topic: BrokeredTopic) -> None:
    assert topic.shop.broker_settings() == SET
    claim = await topic.shop.claim()
    assert claim.managed == (Setting.STRATEGY, Setting.AUTO_UPDATE, Setting.ENFORCEMENT)
    assert claim.original is not None
    assert (claim.original.strategy, claim.original.allows_auto_update, claim.original.enforces_validation) == (
        "FULL",
        True,
        False,
    )


async def is_hidden(topic: BrokeredTopic) -> None:
    assert topic.rest.index() == [0, 1, 2]  # two versions and one tombstone


async def is_second_incarnation(topic: BrokeredTopic) -> None:
    assert (await topic.history()).incarnation == 1


def put(schema: str, **spec: Any) -> Callable[[BrokeredTopic], Awaitable[None]]:
    return lambda topic: topic.edit(schema, **spec)


async def _set(topic: BrokeredTopic) -> None:
    await to_thread(topic.shop.apply, unmanagedTopics={"exempt": ["*"]}, **SET)


async def _named(topic: BrokeredTopic) -> None:
    """Name a broker in the registry, and so set the policy's strategy there."""
    await to_thread(topic.shop.apply_registry)


async def _hidden(topic: BrokeredTopic) -> None:
    """Delete the schema at the broker as another client, and repeat it by an edit."""
    await to_thread(topic.rest.delete)
    await topic.edit(ONE)


OVERRIDDEN = {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE", "schemaValidationEnforced": True}
FLOWS = (
    Flow("first version", governed, put(ONE), ("Registered", [0])),
    Flow("next version", two, put(THREE), ("Registered", [0, 1, 2])),
    Flow("adoption and next version", of_others, put(THREE), ("Registered", [0, 1, 2])),
    Flow("override and schema", existing, put(CLASHING, **OVERRIDDEN), ("Registered", [0, 1]), is_overridden, writes=3),
    Flow(
        "override refused",
        existing,
        put(CLASHING, **OVERRIDDEN),
        ("RefusedByBroker", [0]),
        is_overridden_alone,
        refused,
        writes=2,
    ),
    Flow("rollback", two, put(ONE), ("RolledBack", [0, 1]), writes=0),
    Flow("deletion", two, BrokeredTopic.delete, ("", []), is_hidden),
    Flow("settings and lock", unset, _set, ("Registered", [0]), is_set, writes=3),
    Flow("local history", local, _named, ("Registered", [0, 1, 2]), writes=4),
    Flow("local history that yields", displaced, _named, ("Registered", [0, 1]), is_second_incarnation, writes=2),
    Flow("once more after a soft delete", one, _hidden, ("Registered", [2])),
    Flow("first pair", governed, put("", **PAIR), ("Registered", [0])),
    Flow("first of Protobuf's", governed, put("", **SOURCES), ("Registered", [0])),
)
