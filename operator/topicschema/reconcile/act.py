"""All writes of a pass over a TopicSchema but its status: one action, carried out.

Every write stands on what was read: the history by compare-and-swap, the resource by its resourceVersion or uid.
"""

from dataclasses import replace

from topicschema import telemetry
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.core import plan
from topicschema.core.history import History, Origin
from topicschema.core.schemas import SchemaInfo
from topicschema.reconcile.doorbell import history_key
from topicschema.reconcile.observe import Observation, judged
from topicschema.reconcile.queue import Key
from topicschema.reconcile.surroundings import Surroundings
from topicschema.storage.protocol import Stored

FINALISER_MANAGER = "topicschema-finaliser"


async def act(around: Surroundings, seen: Observation, action: plan.Action) -> Observation | None:
    """Carry out `action`; what is seen now where that is certain, None where the object must be read again.

    After a compare-and-swap the history is known to be what was written. ConflictError when somebody else was faster.
    """
    metadata = seen.resource.metadata
    match action:
        case plan.AddFinaliser():
            await _add_finaliser(around, metadata)
            return None
        case plan.RemoveFinaliser():
            await remove_finaliser(around, metadata)
            return None
        case plan.DeleteRecord():
            await around.storage.delete(_stored(seen))
            return replace(seen, stored=None)
        case plan.Claim(owner):
            return await _put(around, seen, _with_source(seen).claimed_by(owner))
        case plan.Register(owner):
            schema = seen.candidate.schema
            history = _stored(seen).history.with_version(schema, Origin.SPEC, around.now(), seen.source_hash)
            history = history.parsed_by(seen.line).claimed_by(owner)
            after = await _put(around, seen, history, (schema.info,))
            telemetry.REGISTERED.add()
            return after


async def _put(
    around: Surroundings, seen: Observation, history: History, payloads: tuple[SchemaInfo, ...] = ()
) -> Observation:
    metadata = seen.resource.metadata
    record = history_key(history.key.history_name)
    topic = Key(TOPIC_SCHEMA.plural, metadata.namespace, metadata.name)
    with around.echoes.writing(record, lambda: around.ring(topic, 0.0)):
        after = await around.storage.put(_stored(seen), history, payloads, seen.source_hash)
        around.echoes.know(record, after.revision)
    return await judged(around, replace(seen, stored=after))


def _with_source(seen: Observation) -> History:
    """The history that tells what the version found is compiled from, so that no compiler to come makes another."""
    history, source_hash = _stored(seen).history, seen.source_hash
    if source_hash is None or seen.verdict is None or seen.verdict.schema_version is None:
        return history
    return history.with_source(seen.verdict.schema_version, source_hash)


def _stored(seen: Observation) -> Stored:
    if seen.stored is None:
        raise TypeError("an action on a record that was not read")
    return seen.stored


async def _add_finaliser(around: Surroundings, metadata: Metadata) -> None:
    # By apply, so that others' finalisers are left alone; the uid, or an object that is gone would be created.
    body = {
        "apiVersion": TOPIC_SCHEMA.api_version,
        "kind": TOPIC_SCHEMA.name,
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
            "finalizers": [FINALIZER],
        },
    }
    await around.client.apply(TOPIC_SCHEMA, metadata.namespace, metadata.name, body, field_manager=FINALISER_MANAGER)


async def remove_finaliser(around: Surroundings, metadata: Metadata) -> None:
    """Take our finaliser off the resource, whoever else put it there too; ConflictError when the resource moved."""
    rest = [finaliser for finaliser in metadata.finalizers if finaliser != FINALIZER]
    body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": rest}}
    await around.client.patch(TOPIC_SCHEMA, metadata.namespace, metadata.name, body)
