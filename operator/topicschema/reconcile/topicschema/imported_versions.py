"""Import of a broker's schemas into the record in batches, never with all of them in memory at once.

They become valid only when the history names them. `actions` writes it after the last of them.
"""

import time
from typing import Final

from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.core import plan
from topicschema.core.broker_state import BrokerState
from topicschema.core.schemas import SchemaInfo
from topicschema.reconcile.topicschema.broker_fetch import BrokerQuery, schema_of
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import SchemaStorage

_BATCH_BYTES: Final = 1 << 20
_PATIENCE: Final = 1800.0  # seconds: half of the time after which payloads that no history names are collected


async def store_imported_versions(
    storage: SchemaStorage, broker: Broker, query: BrokerQuery, state: BrokerState, action: plan.Import
) -> tuple[SchemaInfo, ...]:
    """Write the payloads of the arrived versions in batches. Return the last ones, to be written with the history.

    Raise BrokerInconsistentError if the broker does not serve one any more. Raise BrokerUnavailableError if it is so
    slow that the first ones might be collected before the history names them.
    """
    if not action.new_versions:
        return ()
    deadline, batch, room = time.monotonic() + _PATIENCE, [], _BATCH_BYTES
    for entry in action.new_versions[:-1]:
        info = await schema_of(storage, broker, query, state, entry)
        batch.append((entry, info))
        room -= weight(info)
        if room <= 0:
            await storage.keep(action.history, batch)
            batch, room = [], _BATCH_BYTES
        if time.monotonic() > deadline:
            raise BrokerUnavailableError(f"the broker is too slow to give {len(action.new_versions)} versions in time")
    newest = await schema_of(storage, broker, query, state, action.new_versions[-1])
    return (*(info for _, info in batch), newest)
