"""The schemas of versions that arrive from a broker, on their way to the record: never all of them in memory at once.

They count only once the history names them, which `act` writes after the last of them.
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
_PATIENCE: Final = 1800.0  # seconds: half of the time after which payloads are swept that no history names


async def store_imported_versions(
    storage: SchemaStorage, broker: Broker, query: BrokerQuery, state: BrokerState, action: plan.Import
) -> tuple[SchemaInfo, ...]:
    """Write the payloads of what arrived, some at a time; those that are left, to be put with the history.

    BrokerInconsistentError where the broker shows one no more; BrokerUnavailableError where it gives them so slowly
    that the first might be swept before the history names them.
    """
    if not action.arrived:
        return ()
    deadline, batch, room = time.monotonic() + _PATIENCE, [], _BATCH_BYTES
    for entry in action.arrived[:-1]:
        info = await schema_of(storage, broker, query, state, entry)
        batch.append((entry, info))
        room -= weight(info)
        if room <= 0:
            await storage.keep(action.history, batch)
            batch, room = [], _BATCH_BYTES
        if time.monotonic() > deadline:
            raise BrokerUnavailableError(f"the broker is too slow to give {len(action.arrived)} versions in time")
    newest = await schema_of(storage, broker, query, state, action.arrived[-1])
    return (*(info for _, info in batch), newest)
