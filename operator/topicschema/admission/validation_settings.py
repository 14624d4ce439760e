"""Checks of an edit's validation settings: the right to define pods, and the limits of a gate.

A policy's template, its authentication and its broker's trust settings define the pods of this namespace: their
program, their Secrets, and the server that receives these. The operator creates the pods, so the user who sets these
fields must be allowed to create such pods.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from topicschema.admission.review import Cause, Review
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.api.validation import ValidationSpec
from topicschema.core.validation_rules import ValidationMode

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_PLAIN: Final = ("http:", "pulsar:")


class Authorizer(Protocol):
    """Client that checks users' permissions."""

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a POST that stores nothing."""


async def refusal(
    client: Authorizer, review: Review, new: NamespaceSchemaPolicy, old: NamespaceSchemaPolicy | None
) -> Cause | None:
    """Return the reason why this user may not define the policy's pods.

    Return None if the user may, or if the edit does not change them.
    """
    parts = _parts(new.spec)
    before = {} if old is None else _parts(old.spec)
    set_now = [name for name, value in parts.items() if value is not None and before.get(name) != value]
    if not set_now or await _may_create_pods(client, review, new.metadata.namespace):
        return None
    message = (
        f"Forbidden: {' and '.join(set_now)} decide what pods in namespace {new.metadata.namespace} run and which "
        "credentials they have: only a user who may create pods there can set it"
    )
    return Cause(f"spec.{set_now[0]}", message, "FieldValueForbidden")


def _parts(spec: NamespaceSchemaPolicySpec) -> dict[str, object]:
    """Return the fields below spec that define pods, with their values.

    Credentials count with the server that receives them: the address, and the trusted authority. Trust counts by itself
    if there is a serviceURL, which only pods use, because they mount its Secret.
    """
    validation, pulsar = spec.validation or ValidationSpec(), spec.pulsar
    shown = None if pulsar is None else (pulsar.service_url, pulsar.admin_url, pulsar.tls)
    authentication = validation.authentication
    return {
        "validation.template": validation.template,
        "validation.authentication": None if authentication is None else (authentication, shown),
        "pulsar.tls": None if pulsar is None or pulsar.service_url is None else pulsar.tls,
    }


async def _may_create_pods(client: Authorizer, review: Review, namespace: str) -> bool:
    user = review.user
    if not user.get("username"):
        return False
    spec = {
        "user": user["username"],
        "uid": user.get("uid") or "",
        "groups": user.get("groups") or [],
        "extra": user.get("extra") or {},
        "resourceAttributes": {"namespace": namespace, "verb": "create", "version": "v1", "resource": "pods"},
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    status: Mapping[str, Any] = (await client.post(_REVIEWS, body)).get("status") or {}
    return status.get("allowed") is True


def warnings(new: NamespaceSchemaPolicy, old: NamespaceSchemaPolicy | None) -> Iterator[str]:
    """Yield the warnings about limits of a policy's validation."""
    spec, before = new.spec, None if old is None else old.spec
    validation = spec.validation
    if validation is None or validation.mode in (None, ValidationMode.OFF) or _same(spec, before):
        return
    is_gate, is_locked = validation.mode is ValidationMode.GATE, spec.is_allow_auto_update_schema is False
    if is_gate and spec.pulsar is not None and not is_locked:
        yield (
            "validation.mode Gate checks only schemas from Git: clients may add schemas without it until "
            "isAllowAutoUpdateSchema is false"
        )
    is_of_files = validation.source is not None and validation.source.files is not None
    if not is_of_files and (spec.pulsar is None or spec.pulsar.service_url is None):
        yield "validation reads the topics' messages from spec.pulsar.serviceURL, which is not set: nothing can be read"
    has_no_credentials = not is_of_files and validation.authentication is None
    if has_no_credentials and spec.pulsar is not None and spec.pulsar.authentication is not None:
        yield (
            "validation's pods have no credentials for the broker, because they never get the operator's: set "
            "validation.authentication, a role that may consume"
        )
    yield from _of_transport(spec)
    if validation.include_values:
        yield "validation.includeValues: all who may read a TopicSchema or its report see values of messages"


def _of_transport(spec: NamespaceSchemaPolicySpec) -> Iterator[str]:
    pulsar, validation = spec.pulsar, spec.validation or ValidationSpec()
    if pulsar is None or validation.authentication is None or validation.authentication.tls is not None:
        return
    for field, url in (("adminURL", pulsar.admin_url), ("serviceURL", pulsar.service_url or "")):
        if url.startswith(_PLAIN):
            yield f"spec.pulsar.{field} is not encrypted: validation.authentication goes over the network as it is"


def _same(spec: NamespaceSchemaPolicySpec, before: NamespaceSchemaPolicySpec | None) -> bool:
    fields = (spec.validation, spec.pulsar, spec.is_allow_auto_update_schema)
    return before is not None and fields == (before.validation, before.pulsar, before.is_allow_auto_update_schema)
