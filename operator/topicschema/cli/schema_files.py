"""The schemas that a command line names: what is in the files, or, of `.proto` files, what a client would send."""

from argparse import Namespace
from collections.abc import Sequence

from topicschema.cli import files
from topicschema.cli.files import STANDARD_INPUT, WrongInputError
from topicschema.core.schemas import SchemaType


def kind_of(named: str | None, names: Sequence[str], option: str = "--type") -> SchemaType:
    """The type that is asked for; where none is `named`, that of the files: PROTOBUF_NATIVE for `.proto`, else AVRO.

    WrongInputError where sources are to be of another type.
    """
    source = next(filter(is_proto, names), None)
    if source is None:
        return SchemaType(named or SchemaType.AVRO)
    if named not in (None, SchemaType.PROTOBUF_NATIVE):
        raise WrongInputError(f"{source} is PROTOBUF_NATIVE, not {named}: leave out {option}")
    return SchemaType.PROTOBUF_NATIVE


def is_proto(name: str) -> bool:
    """Whether the file has sources for protoc."""
    return name.endswith(".proto")


def read_all(kind: SchemaType, names: Sequence[str], options: Namespace) -> list[bytes]:
    """The schema in each file, all of one type; WrongInputError where one cannot be read or compiled."""
    return read_each([kind] * len(names), names, options)


def read_each(kinds: Sequence[SchemaType], names: Sequence[str], options: Namespace) -> list[bytes]:
    """The schema in each file, each of its own type; WrongInputError where one cannot be read or compiled.

    Where the command has a history, its files come first.
    """
    given = vars(options)
    texts = files.read_all(names)
    are_sources = [_is_source(*each) for each in zip(kinds, names, texts, strict=True)]
    if not any(are_sources):
        if any(given.get(each) for each in ("message", "history_message", "folders")):
            raise WrongInputError("--message, --history-message and -I are for .proto files")
        return texts
    from topicschema.cli import proto_files  # noqa: PLC0415  # a child process and asyncio, for .proto alone

    search = proto_files.Search(options.message, options.folders)
    earlier = proto_files.Search(given.get("history_message") or options.message, options.folders)
    versions = len(given.get("history", ()))
    called = next(filter(is_proto, names), "stdin.proto")  # standard input has the name of the file beside it
    return [
        (earlier if number < versions else search).compiled(called if name == STANDARD_INPUT else name, text).envelope
        if is_source
        else text
        for number, (name, text, is_source) in enumerate(zip(names, texts, are_sources, strict=True))
    ]


def _is_source(kind: SchemaType, name: str, text: bytes) -> bool:
    if kind is not SchemaType.PROTOBUF_NATIVE:
        return False
    return is_proto(name) or (name == STANDARD_INPUT and not text.lstrip().startswith(b"{"))
