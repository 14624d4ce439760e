"""The context of a reconcile: API server, record, brokers, judge, clocks, index of objects, work queue."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from topicschema.cluster.client import ApiClient
from topicschema.cluster.events import EventRecorder
from topicschema.judging.judge import Judge
from topicschema.judging.policies import PolicyResolver
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.validation.job_limiter import Validations
from topicschema.storage.claims import Claims
from topicschema.storage.protocol import SchemaStorage


def utc_now() -> str:
    """The time as the product writes it: RFC 3339, UTC, seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileContext:
    """Everything that reconciles share.

    `enqueue` has a key reconciled within some seconds; `claims_are_open` lets every namespace claim any Pulsar
    namespace; `namespace` is the operator's own. `now` is the time that is written down; `clock`, which nobody sets
    back, measures in seconds how long something lasts.
    """

    client: ApiClient
    storage: SchemaStorage
    claims: Claims
    policies: PolicyResolver
    judge: Judge
    events: EventRecorder
    brokers: Brokers
    index: ObjectIndex
    own_writes: OwnWrites
    enqueue: Callable[[Key, float], None]
    namespace: str
    claims_are_open: bool = False
    now: Callable[[], str] = utc_now
    clock: Callable[[], float] = time.monotonic
    validation: Validations = field(default_factory=Validations)
