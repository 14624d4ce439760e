"""A Pulsar namespace's three settings of schemas: fields of its policy."""

from typing import Any, Final

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiRefusedError, ConflictError
from topicschema.core.remote import Setting
from topicschema.core.strategies import Strategy
from topicschema.judging.policies import ActivePolicy
from topicschema.registry import requests, resources
from topicschema.registry.answers import Form, RestError, failure

SETTINGS: Final = {Setting.STRATEGY: "PUT", Setting.AUTO_UPDATE: "POST", Setting.ENFORCEMENT: "POST"}
"""The settings, each with the method that writes it."""
_TRIES: Final = 3
_FLAGS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE", "null", ""), False),
}
_MAX_INT: Final = 2**31 - 1


def value_of(setting: Setting, active: ActivePolicy) -> Any:
    """Return the value as the broker does: the policy's, else the one observed at the broker, else Pulsar's default."""
    spec, observed = active.resource.spec, active.resource.observed
    if setting is Setting.STRATEGY:
        own = spec.schema_compatibility_strategy or (observed and observed.schema_compatibility_strategy)
        return (own or Strategy.UNDEFINED).value
    if setting is Setting.AUTO_UPDATE:
        flags = spec.is_allow_auto_update_schema, observed and observed.is_allow_auto_update_schema
        return next((each for each in flags if each is not None), True)
    flags = spec.schema_validation_enforced, observed and observed.schema_validation_enforced
    return next((each for each in flags if each is not None), False)


def sent(setting: Setting, body: bytes) -> Any:
    """Return the value of a request's body as the broker's Jackson reads it. Raises RestError 400 for another kind.

    As at a broker, an unknown strategy unsets the setting, and a number is the position of a strategy's name.
    """
    try:
        value = requests.loads(body.decode()) if body.strip() else None
    except (ValueError, RecursionError):
        raise RestError(400, "the body is not JSON", Form.TEXT) from None
    if setting is Setting.STRATEGY:
        return _strategy(value).value
    if not body.strip():
        raise RestError(400, "true or false is expected", Form.TEXT)
    if isinstance(value, requests.Spelling) and value.lstrip("-").isdecimal():
        return value.strip("-0") != ""
    flag = _FLAGS.get(value.strip()) if isinstance(value, str) else value
    if isinstance(flag, bool) or value is None:
        return bool(flag)
    raise RestError(400, "true or false is expected", Form.TEXT)


def _strategy(value: Any) -> Strategy:
    is_fraction = isinstance(value, requests.Spelling) and not value.lstrip("-").isdecimal()
    if isinstance(value, bool | dict | list) or is_fraction:
        raise RestError(400, f"one of {', '.join(Strategy)} is expected", Form.TEXT)
    text = value.strip() if isinstance(value, str) else ""
    if isinstance(value, requests.Spelling) and abs(int(text)) > _MAX_INT:
        raise failure(
            "the number is out of the range of an int", "com.fasterxml.jackson.core.exc.InputCoercionException"
        )
    by_position = dict(zip("012345678", Strategy, strict=True))
    return by_position.get(text) or (Strategy(text) if text in Strategy.__members__ else Strategy.UNDEFINED)


async def write(client: ApiClient, setting: Setting, value: Any, active: ActivePolicy) -> None:
    """Apply the setting to the policy. Raises RestError 409 if another manager owns it, 412 if it is refused."""
    metadata = active.resource.metadata
    for _ in range(_TRIES):
        wire = await client.get(NAMESPACE_SCHEMA_POLICY, metadata.namespace, metadata.name)
        if wire["spec"].get(setting.value) == value:
            return
        where = f"NamespaceSchemaPolicy {metadata.name} in namespace {metadata.namespace}"
        resources.check_managers(wire, {setting.value}, where)
        own = {name: wire["spec"][name] for name in resources.owned(wire) if name in wire["spec"]}
        spec = own | {setting.value: value}
        try:
            await resources.apply(client, NAMESPACE_SCHEMA_POLICY, metadata.namespace, metadata.name, spec, wire)
        except ConflictError:
            continue
        except ApiRefusedError as error:
            causes = "; ".join(f"{field}: {text}" for field, text in error.causes) or error.message
            raise RestError(412, causes) from None
        return
    raise RestError(409, "the policy changes all the time: try again")
