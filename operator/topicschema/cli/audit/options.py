"""Conversion of the options of `audit` to those of the data sources."""

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Final

from topicschema.api.kinds import SCHEMA_REGISTRY
from topicschema.api.registries import AuthenticationSpec, PulsarSpec, SchemaRegistrySpec
from topicschema.cli.inputs import manifests
from topicschema.cli.inputs.files import UsageError, read, shown
from topicschema.validation.job.audits import flow_options

_CREDENTIALS: Final = {
    "token_file": "tokenFile",
    "token_variable": "tokenVariable",
    "certificate_file": "certificateFile",
    "key_file": "keyFile",
    "ca_file": "caFile",
    "oauth2_secret_file": "oauth2SecretFile",
}
_OF_TOPICS: Final = ("registry_file", "namespace", "since", *_CREDENTIALS)
_OF_FILES: Final = ("history", "schema", "type", "written_with", "file_format", "column")
_COLUMNS: Final = {
    "payload": "payloadColumn",
    "key": "keyColumn",
    "schema_version": "schemaVersionColumn",
    "publish_time": "publishTimeColumn",
    "partition": "partitionColumn",
}


def options_of(options: Namespace) -> Mapping[str, str]:
    """Return the options of the data source. Raises UsageError for invalid ones."""
    others = _OF_TOPICS if options.files else _OF_FILES
    wrong = [name for name in others if getattr(options, name) not in (None, [])]
    if wrong:
        what = "topics, not for --files" if options.files else "--files"
        raise UsageError(f"--{wrong[0].replace('_', '-')} is for {what}")
    return dict(_file_options(options) if options.files else _topic_options(options))


def _topic_options(options: Namespace) -> Iterator[tuple[str, str]]:
    if options.registry_file is None or not options.namespace:
        raise UsageError("name the registry with --registry-file and a namespace with --namespace, or use --files")
    pulsar = _registry(options.registry_file)
    if pulsar.service_url is None:
        raise UsageError(
            f"{shown(options.registry_file)}: spec.pulsar.serviceURL is missing: messages are read from it"
        )
    yield "adminUrl", pulsar.admin_url
    yield "serviceUrl", pulsar.service_url
    yield "namespace", _list("--namespace", options.namespace)
    if pulsar.redirect_hosts:
        yield "redirectHosts", ",".join(pulsar.redirect_hosts)
    if options.since is not None:
        yield "since", f"{options.since}s"
    yield from _credentials(options, pulsar.authentication)


def _credentials(options: Namespace, authentication: AuthenticationSpec | None) -> Iterator[tuple[str, str]]:
    """Yield the options of credentials. The registry's Secrets are not read."""
    named = {option: value for name, option in _CREDENTIALS.items() if (value := getattr(options, name)) is not None}
    for option, path in named.items():
        if option != "tokenVariable" and not os.access(path, os.R_OK):
            raise UsageError(f"{path}: the file does not exist, or is not readable")
    if authentication is not None:
        secrets = {
            "tokenFile or tokenVariable": authentication.token is not None,
            "oauth2SecretFile": authentication.oauth2 is not None,
            "certificateFile": authentication.tls is not None,
        }
        missing = [each for each, is_used in secrets.items() if is_used and not named.keys() & set(each.split(" or "))]
        if missing:
            flag = {"oauth2SecretFile": "--oauth2-secret-file", "certificateFile": "--certificate-file and --key-file"}
            raise UsageError(
                f"the registry needs credentials: write them into a file, and name it with "
                f"{flag.get(missing[0], '--token-file')}"
            )
        if authentication.oauth2 is not None:
            yield from flow_options(authentication.oauth2)
    yield from named.items()


def _registry(name: str) -> PulsarSpec:
    """Return the Pulsar cluster of the only SchemaRegistry in the file."""
    documents = [each for each in manifests.documents(shown(name), read(name)) if each.kind == SCHEMA_REGISTRY.name]
    if len(documents) != 1:
        raise UsageError(f"{shown(name)} has {len(documents)} SchemaRegistries, and one is needed")
    pulsar = documents[0].spec(SchemaRegistrySpec).pulsar
    if pulsar is None:
        raise UsageError(f"{shown(name)}: spec.pulsar is missing: an audit reads the topics of a Pulsar cluster")
    return pulsar


def _file_options(options: Namespace) -> Iterator[tuple[str, str]]:
    yield "files", _list("--files", options.files)
    if options.history:
        yield "history", _list("--history", options.history)
    if options.schema is None and not options.history:
        raise UsageError("name the current schema with --schema, or the versions with --history")
    yield "schema", options.schema or "current"
    if options.type is not None:
        yield "schemaType", options.type
    if options.written_with is not None:
        yield "writtenWith", str(options.written_with)
    if options.file_format is not None:
        yield "fileFormat", options.file_format
    for each in options.column:
        what, _, name = each.partition("=")
        if what not in _COLUMNS:
            raise UsageError(f"--column {each}: write one of {', '.join(f'{known}=NAME' for known in _COLUMNS)}")
        yield _COLUMNS[what], name


def _list(option: str, values: list[str]) -> str:
    wrong = next((each for each in values if "," in each or not each.strip()), None)
    if wrong is not None:
        raise UsageError(f"{option} {wrong!r}: a name may not be empty or have a comma")
    return ",".join(values)
