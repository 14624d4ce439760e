"""The Pulsar version that judges a policy's topics: that of its broker, else that of `brokerProfile.pulsarVersion`."""

from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.core import releases
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.reasons import Reason
from topicschema.core.schemas import PulsarVersion

_FIELD = "spec.brokerProfile.pulsarVersion"


def pulsar_version_of(resource: NamespaceSchemaPolicy) -> PulsarVersion | None:
    """Return the Pulsar version, or None if neither broker nor policy name one."""
    return _observed(resource) or resource.spec.broker_profile.pulsar_version


def problem(resource: NamespaceSchemaPolicy) -> TopicSchemaError | None:
    """Return the error of a policy without a Pulsar version, or with another one than its broker, or None."""
    observed, named = _observed(resource), resource.spec.broker_profile.pulsar_version
    if observed is None or named in (None, observed):
        return missing(resource)
    return StalledError(
        Reason.PULSAR_VERSION_MISMATCH,
        f"the broker is {resource.release}, whose rules judge, and {_FIELD} is {named}: remove the field, or set it to "
        f"{observed}",
    )


def missing(resource: NamespaceSchemaPolicy) -> TopicSchemaError | None:
    """Return the error of a policy without a Pulsar version, or None. It judges nothing."""
    if pulsar_version_of(resource) is not None:
        return None
    name = resource.metadata.name
    if resource.spec.pulsar is None:
        message = f"policy {name} names no broker that reports its version: set {_FIELD}"
        return StalledError(Reason.PULSAR_VERSION_UNKNOWN, message)
    message = f"the broker of policy {name} has not reported its version; if it never does, set {_FIELD}"
    return WaitingError(Reason.PULSAR_VERSION_UNKNOWN, message)


def _observed(resource: NamespaceSchemaPolicy) -> PulsarVersion | None:
    return None if resource.release is None else releases.judging_version(resource.release)
