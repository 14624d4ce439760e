"""`topicschema extract`: the schema of a class or of a file, as a text, an upload, or a TopicSchema."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from topicschema.broker import wire
from topicschema.cli.commands import check, manifest
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.extract import java_class, python_record
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.topics import text_of
from topicschema.core import formats
from topicschema.core.errors import TopicSchemaError
from topicschema.core.schemas import SchemaInfo, SchemaType

_OF_CLASSES: Final = (SchemaType.AVRO, SchemaType.JSON)


def run(options: Namespace) -> int:
    """Print the schema. Return 1, with the reason on standard error, if it is none."""
    _demand_options(options)
    if options.output == "manifest":
        return manifest.write(options, _schema)
    schema = manifest.checked(options, _schema)
    if schema is None:
        return INCOMPATIBLE
    info = formats.as_stored(schema[0])
    if options.output == "text":
        print(text_of(info))
        return COMPATIBLE
    try:
        print(json.dumps(wire.written(info), ensure_ascii=False))
    except TopicSchemaError as error:
        raise UsageError(str(error)) from None
    return COMPATIBLE


def _demand_options(options: Namespace) -> None:
    if options.output == "manifest" and options.topic is None:
        raise UsageError("-o manifest needs --topic")
    if bool(options.jar) == bool(options.file):
        raise UsageError("name either a file or MODULE:CLASS, or a Java class by --jar and --classname")
    if bool(options.jar) != bool(options.classname):
        raise UsageError("a Java class needs both --jar and --classname")
    if not options.jar and (options.jsr310 or options.always_allow_null != "true"):
        raise UsageError("--jsr310 and --always-allow-null are for a Java class, by --jar and --classname")


def _schema(options: Namespace) -> tuple[SchemaInfo, dict[str, Any]]:
    if not options.jar and (":" not in options.file or Path(options.file).exists()):
        return manifest.schema_of_file(options)
    kind = SchemaType(options.type or SchemaType.AVRO)
    info = _of_java(options, kind) if options.jar else python_record.schema(options.file, kind)
    info = SchemaInfo(kind, info.schema, {**info.properties, **check.properties(options.property)})
    return info, manifest.spec_of(info, options)


def _of_java(options: Namespace, kind: SchemaType) -> SchemaInfo:
    if kind not in _OF_CLASSES:
        raise UsageError(f"--jar makes schemas of type AVRO or JSON, not {kind}")
    (info,) = java_class.schemas(
        options.jar,
        [options.classname],
        kind,
        always_allow_null=options.always_allow_null == "true",
        jsr310=options.jsr310,
    )
    return info
