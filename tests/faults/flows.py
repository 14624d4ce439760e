"""The flows whose writes are enumerated: the state before, the edit of a person, and the state in the end.

`before` runs undisturbed. `act` is the person's edit: it runs while the fault is armed. `after` checks the end, when
the controller was killed once and has run again. `places` are those of `make test`: writes that come in every run, of
the payload, of the record and of the status.
"""

from collections.abc import Callable
from dataclasses import dataclass

from faults import kubelet
from faults.world import World, avro, text_of
from faults.write_holds import Place
from testbed.product import VALIDATION
from topicschema.core.formats import key_value
from topicschema.core.history import source_mark
from topicschema.protoc import ProtobufSources, compile_envelope

FIRST, SECOND = avro(), avro("note")
ORDER = 'syntax = "proto3"; package shop; message Order { string id = 1; }'
LONGER = ORDER.replace("}", "int32 count = 2; }")
ITEMS = '{"type": "array", "items": "string"}'
BROKEN = '{"type": "record", "name": "Order", "fields": [{"name": "n", "type": "int"}]}'


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow, as in the module's docstring."""

    name: str
    before: Callable[[World], None]
    act: Callable[[World], None]
    after: Callable[[World], None]
    places: tuple[Place, ...] = ()


def _ready(world: World, reason: str, schema_version: int, texts: list[str]) -> None:
    world.until(lambda: world.condition("Ready") == ("True", reason), f"{world.name} Ready {reason}")
    resource = world.read() or {}
    assert resource["status"]["schemaVersion"] == schema_version
    assert resource["status"]["latestSchemaVersion"] == len(texts) - 1
    assert resource["status"]["versionCount"] == len(texts)
    assert world.recorded_texts() == texts


def _policy(world: World) -> None:
    world.create_namespace()
    world.create_policy()
    world.until(lambda: world.policy_condition("Ready") == ("True", "Active"), f"policy of {world.name} is Ready")


def one_version(world: World) -> None:
    """Create a policy and a registered first version."""
    _policy(world)
    world.apply(FIRST)
    _ready(world, "Registered", 0, [FIRST])


def _sources(proto: str) -> ProtobufSources:
    return ProtobufSources("shop.Order", {"shop/order.proto": proto})


def _apply_sources(world: World, proto: str) -> None:
    sources = _sources(proto)
    protobuf = {"message": sources.message, "files": dict(sources.files)}
    world.apply("", type="PROTOBUF_NATIVE", protobuf=protobuf)


def _from_sources(world: World) -> None:
    _policy(world)
    _apply_sources(world, ORDER)
    _check_compiled(world, ORDER)


def _check_compiled(world: World, *protos: str) -> None:
    """Check that each of the sources is a version, with its mark in the record."""
    expected = [_sources(proto) for proto in protos]
    _ready(world, "Registered", len(expected) - 1, [compile_envelope(sources).decode() for sources in expected])
    history = world.history() or {}
    marks = [line.split()[-1] for line in history["spec"]["versions"]]
    assert marks == [source_mark(sources.source_hash) for sources in expected]


def _apply_pair(world: World) -> None:
    parts = {"key": {"type": "STRING"}, "value": {"type": "AVRO", "schema": ITEMS}}
    world.apply("", type="KEY_VALUE", keyValue={"encoding": "SEPARATED", **parts})


def _paired(world: World) -> None:
    _ready(world, "Registered", 0, [key_value.payload_of(f'{{"key": "", "value": {ITEMS}}}').decode()])


def _two_versions(world: World) -> None:
    one_version(world)
    world.apply(SECOND)
    _ready(world, "Registered", 1, [FIRST, SECOND])


def _policy_after_topic(world: World) -> None:
    world.create_namespace()
    world.apply(FIRST)
    world.until(lambda: world.condition("Ready") == ("False", "PolicyNotFound"), f"{world.name} without a policy")


def _refused(world: World) -> None:
    world.until(lambda: world.condition("Ready") == ("False", "Incompatible"), f"{world.name} refused")
    assert world.condition("Stalled") == ("True", "Incompatible")
    assert world.recorded_texts() == [FIRST]


def _deletable(world: World) -> None:
    _policy(world)
    world.apply(FIRST, deletionPolicy="Delete")
    _ready(world, "Registered", 0, [FIRST])
    world.until(lambda: bool((world.read() or {})["metadata"].get("finalizers")), "the finalizer")


def _finalizer_and_version(world: World) -> None:
    _ready(world, "Registered", 0, [FIRST])
    assert (world.read() or {})["metadata"]["finalizers"] == ["topicschema.io/broker-delete"]


def _gone(world: World) -> None:
    world.until(lambda: world.read() is None, "the resource to go")
    (deleted,) = (world.history() or {"spec": {}})["spec"]["deleted"]
    assert (world.recorded_texts(), len(deleted["versions"])) == ([], 1)
    assert [text_of(each) for each in world.payloads()] == [FIRST], "compared with the next schema of the topic"


def _apply_behind_gate(world: World) -> None:
    world.apply(SECOND, validation={"mode": "Gate"})
    kubelet.start(world)


def _check_passed(world: World) -> None:
    """Check that the version is there, after one Job for its messages, with its request."""
    _ready(world, "Registered", 1, [FIRST, SECOND])
    world.until(lambda: world.condition("Validated") == ("True", "Passed"), "the verdict in the status")
    jobs = world.jobs()
    assert len(jobs) == 1, f"{len(jobs)} Jobs"
    maps = [one["metadata"]["name"] for one in world.api.list("configmaps", VALIDATION)]
    assert f"{jobs[0]['metadata']['name']}-0" in maps


def _recreate(world: World) -> None:
    world.delete_topic_schema()
    world.until(lambda: world.read() is None, "the resource to go")
    world.apply(SECOND)


def _create_both(world: World) -> None:
    world.create_namespace()
    world.create_policy()
    world.apply(FIRST)


CLAIM = "create pulsarnamespaceclaims"
PAYLOAD = "create schemaversions"
FIRST_RECORD, NEXT_RECORD = "create schemahistories", "patch schemahistories"
STATUS = "patch topicschemas/status"


def _before(*kinds: str) -> tuple[Place, ...]:
    return tuple(Place(kind, is_before=True) for kind in kinds)


def _behind(*kinds: str) -> tuple[Place, ...]:
    return tuple(Place(kind, is_before=False) for kind in kinds)


FLOWS = (
    Flow(
        "a policy and its first topic",
        lambda _: None,
        _create_both,
        lambda w: _ready(w, "Registered", 0, [FIRST]),
        _behind(CLAIM, PAYLOAD, FIRST_RECORD),
    ),
    Flow(
        "a first version",
        _policy,
        lambda w: w.apply(FIRST),
        lambda w: _ready(w, "Registered", 0, [FIRST]),
        _behind(PAYLOAD, FIRST_RECORD, f"{STATUS} Registered"),
    ),
    Flow(
        "a policy that comes after its topic",
        _policy_after_topic,
        lambda w: w.create_policy(),
        lambda w: _ready(w, "Registered", 0, [FIRST]),
        _before(CLAIM, PAYLOAD, f"{STATUS} Registered"),
    ),
    Flow(
        "a next version",
        one_version,
        lambda w: w.apply(SECOND),
        lambda w: _ready(w, "Registered", 1, [FIRST, SECOND]),
        _behind(PAYLOAD, NEXT_RECORD, f"{STATUS} Registered"),
    ),
    Flow(
        "a next version from sources",
        _from_sources,
        lambda w: _apply_sources(w, LONGER),
        lambda w: _check_compiled(w, ORDER, LONGER),
        _before(PAYLOAD, NEXT_RECORD, f"{STATUS} Registered"),
    ),
    Flow(
        "a first pair", _policy, _apply_pair, _paired, _behind(PAYLOAD, FIRST_RECORD) + _before(f"{STATUS} Registered")
    ),
    Flow(
        "a rollback",
        _two_versions,
        lambda w: w.apply(FIRST),
        lambda w: _ready(w, "RolledBack", 0, [FIRST, SECOND]),
        _before(f"{STATUS} RolledBack") + _behind(f"{STATUS} RolledBack"),
    ),
    Flow(
        "an edit that the controller refuses",
        one_version,
        lambda w: w.apply(BROKEN),
        _refused,
        _before(f"{STATUS} Incompatible") + _behind(f"{STATUS} Incompatible", "create events Incompatible"),
    ),
    Flow(
        "a resource created again",
        one_version,
        _recreate,
        lambda w: _ready(w, "Registered", 1, [FIRST, SECOND]),
        _behind(PAYLOAD, NEXT_RECORD, f"{STATUS} Registered"),
    ),
    Flow(
        "a first version with a finalizer",
        _policy,
        lambda w: w.apply(FIRST, deletionPolicy="Delete"),
        _finalizer_and_version,
        _behind("patch topicschemas", FIRST_RECORD) + _before(PAYLOAD),
    ),
    Flow(
        "a version behind a gate",
        one_version,
        _apply_behind_gate,
        _check_passed,
        _behind("create jobs", "patch jobs", NEXT_RECORD),
    ),
    Flow(
        "a deletion whose versions are still compared",
        _deletable,
        lambda w: w.delete_topic_schema(),
        _gone,
        _behind("patch schemahistories", "patch topicschemas") + _before("patch schemahistories"),
    ),
)
