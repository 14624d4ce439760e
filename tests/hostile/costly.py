"""Families of schemas that are expensive to compare: each by its size and the number of its version.

A version has other names or types than the one before, so that a comparison never ends early.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas
from support.schemas.avro import array, enum, field, fixed, mapping, record
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import SchemaInfo, SchemaType

Family = Callable[[int, int], SchemaInfo]
_F: Final = FieldDescriptorProto


def avro(make: Callable[[int, int], Any], kind: SchemaType = SchemaType.AVRO) -> Family:
    return lambda size, version: SchemaInfo(kind, json.dumps(make(size, version), separators=(",", ":")).encode())


def _names(size: int, version: int) -> list[str]:
    return [f"V{version}_{number}" for number in range(size)]


def _root(*fields: dict[str, Any]) -> dict[str, Any]:
    return record("Root", *fields)


def full(size: int, version: int) -> Any:
    """Records of one union, each with a union of itself and those before it."""
    names = _names(size, version)
    records = [record(each, field("u", ["null", *names[: n + 1]])) for n, each in enumerate(names)]
    return _root(field("a", records))


def back(size: int, version: int) -> Any:
    """Records of one union, each with a field of its own, all of which lead back to the root."""
    up = field("up", ["null", "Root"], default=None)
    return _root(field("u", [record(each, field(f"f{n}", "int"), up) for n, each in enumerate(_names(size, version))]))


def straight(size: int, version: int) -> Any:
    """Records of one union that have the same fields."""
    return _root(field("u", [record(each, field("f", array("int"))) for each in _names(size, version)]))


def by_enum(size: int, version: int) -> Any:
    """Records of one union with an enum of another name each: none takes another."""
    names = _names(size, version)
    return _root(field("u", [record(each, field("f", enum(f"E{each}", "A"))) for each in names]))


def many_fields(size: int, version: int) -> Any:
    """Records of one union that offer and demand many fields."""
    inner = [field(f"f{number}", "int") for number in range(30)]
    names = _names(size, version)
    return _root(field("u", [record(each, *inner, field("x", array("int"))) for each in names]))


def array_of_unions(size: int, version: int) -> Any:
    """Return an array of a record with unions of the same records, and with a default that only this version has."""
    names = _names(5, version)
    first = field("u", [record(each, field("f", "int")) for each in names])
    row = record(
        "Row", first, *(field(f"g{n}", names) for n in range(size)), field(f"d{version}", array("int"), default=[1])
    )
    return array(row)


def unions_of_fields(size: int, version: int) -> Any:
    """Fields each of which is a union of the same records."""
    names = _names(30, version)
    first = field("u", [record(each, field("f", array("int"))) for each in names])
    return _root(first, *(field(f"g{number}", names) for number in range(size)))


def aliases(size: int, version: int) -> Any:
    """Records of one union that have the names of the version before as aliases."""
    before = [] if not version else _names(size, version - 1)
    made = [
        record(each, field("f", array("int")), **({"aliases": [before[n]]} if before else {}))
        for n, each in enumerate(_names(size, version))
    ]
    return _root(field("u", made))


def field_aliases(size: int, version: int) -> Any:
    """Fields that have the names of the version before as aliases."""
    return _root(*(field(f"v{version}_{n}", "int", aliases=[f"v{version - 1}_{n}"], default=0) for n in range(size)))


def aliased_defaults(size: int, version: int) -> Any:
    """Fields with a default of one wide record, which are checked again because of an alias."""
    wide = record("Wide", *(field(f"f{number}", "int", default=0) for number in range(size)))
    fields = [field(f"v{version}_{n}", "Wide", default={}) for n in range(size)]
    return _root(field("w", wide, default={}), field("x", "int", aliases=["old"], default=0), *fields)


def chained_defaults(size: int, version: int) -> Any:
    """Records each with a default of the one before, in an array."""
    names = _names(size, version)
    first = record(names[0], field("v", "int", default=1))
    rows = [first, *(record(names[n], field("d", names[n - 1], default={})) for n in range(1, size))]
    return _root(*(field(f"x{n}_{version}", row, default={}) for n, row in enumerate(rows)))


def partial_defaults(size: int, version: int) -> Any:
    """Return a default with many values of one wide record, each of which leaves out all fields but one."""
    wide = record("Wide", *(field(f"f{number}", "int", default=0) for number in range(size)))
    many = record("Many", *(field(f"u{number}", "int") for number in range(9)))
    rows = [{f"f{number}": version} for number in range(size)]
    others = field("u", ["null", many, *(record(f"V{number}") for number in range(9))])
    return _root(field("w", wide, default={}), field(f"v{version}", array("Wide"), default=rows), others)


def large_defaults(size: int, version: int) -> Any:
    """Return a field of another name in each version, with a large default. An alias has Avro check all defaults."""
    return _root(field(f"f{version}", array("int"), default=[1] * size), field("z", "int", aliases=["old"], default=0))


def long_names(size: int, version: int) -> Any:
    """Unions of short names in a long namespace."""
    names = [f"V{number}" for number in range(9)]
    first = field("u", [record(each, field("f", "int")) for each in names])
    fields = [field(f"g{number}", names if version % 2 else "int") for number in range(size)]
    return {**_root(first, *fields), "namespace": ".".join(["n" * 50] * 18)}


def symbols(size: int, version: int) -> Any:
    """Return one enum that loses and gains symbols."""
    return _root(field("e", enum("E", *(f"S{number}" for number in range(version, size + version)))))


def crossed_enums(size: int, version: int) -> Any:
    """Fields of enums whose names are those of another version's other enums."""
    count = max(int(size**0.5), 1)
    made = [enum(f"n{(n + version) % count}.E", *(f"S{n}_{each}" for each in range(count))) for n in range(count)]
    first = [field(f"e{n}", each) for n, each in enumerate(made)]
    return _root(*first, *(field(f"g{n}", made[(n * (version + 1)) % count]["name"]) for n in range(size)))


def nested_arrays(size: int, version: int) -> Any:
    """Arrays and maps of records, each record within the one before."""
    inner: Any = "long" if version % 2 else "int"
    for n in range(min(size, 100)):
        inner = record(f"V{version}_{n}", field("a", array(mapping(inner))))
    return _root(
        *(field(f"f{n}", array(array("double" if version % 2 else "int"))) for n in range(size)), field("a", inner)
    )


def mutually_recursive(size: int, version: int) -> Any:
    """Records in unions and arrays, which lead back to the root directly."""
    names = _names(size, version)
    made = [
        record(each, field("r", array("Root")), field("n", ["null", *names[max(n - 3, 0) : n]]), field("d", "Hub"))
        for n, each in enumerate(names)
    ]
    hub = record("Hub", field("h", array("Hub")), field("b", ["null", "Root"]))
    return _root(field("hub", hub), field("u", made))


def later_names(size: int, version: int) -> Any:
    """Records of a union, each with a union of the ten before it and its own array."""
    names = _names(size, version)
    made = [
        record(each, field("u", [*names[max(n - 10, 0) : n], array(each)]), field("i", "int"))
        for n, each in enumerate(names)
    ]
    return _root(field("a", made))


def moved(size: int, version: int) -> Any:
    """Records in another namespace in each version."""
    return _root(*(field(f"f{n}", record(f"v{version}.R{n}", field("i", "int"))) for n in range(size)))


def rounded(size: int, version: int) -> Any:
    """Fields that are rounded."""
    kind = "double" if version % 2 else "long"
    return _root(field(f"v{version}", "int", default=0), *(field(f"f{n}", kind) for n in range(size)))


def logical(size: int, version: int) -> Any:
    """Fields whose decimals change."""
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": version % 9}
    return _root(field(f"v{version}", "int", default=0), *(field(f"f{n}", kind) for n in range(size)))


def fixeds(size: int, version: int) -> Any:
    """Fixed types of one union with other names."""
    return _root(field("u", ["null", *(fixed(each, 4) for each in _names(size, version))]))


def native(files: list[FileDescriptorProto], root: str = "p.M") -> SchemaInfo:
    envelope = protobuf_schemas.envelope(FileDescriptorSet(file=files), root, files[-1].name)
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode())


def proto_file(package: str = "p", name: str = "a.proto") -> FileDescriptorProto:
    return FileDescriptorProto(name=name, package=package, syntax="proto2")


def proto_field(message: DescriptorProto, number: int, name: str = "", **rest: Any) -> None:
    label = rest.pop("label", _F.LABEL_OPTIONAL)
    message.field.add(name=name or f"f{number}", number=number, label=label, **rest)


def proto_circles(size: int, version: int) -> SchemaInfo:
    """Messages with many fields that lead to each other, under other names."""
    file, width = proto_file(), 20
    root = file.message_type.add(name="M")
    count = size // width + 1
    for n in range(count):
        message = file.message_type.add(name=f"V{version}_{n}")
        for number in range(1, width):
            of = f".p.V{version}_{(n * number + number) % count}"
            proto_field(message, number, type=_F.TYPE_MESSAGE, type_name=of)
    for number in range(1, width):
        proto_field(root, number, f"r{number}", type=_F.TYPE_MESSAGE, type_name=f".p.V{version}_{number % count}")
    return native([file])


def proto_enums(size: int, version: int) -> SchemaInfo:
    """Fields of one closed enum, which are integers in every other version."""
    file = proto_file()
    message, _ = file.message_type.add(name="M"), file.message_type.add(name=f"V{version}")
    made = file.enum_type.add(name="E")
    for n in range(size):
        made.value.add(name=f"S{n}", number=n)
    kind = {"type": _F.TYPE_INT32} if version % 2 else {"type": _F.TYPE_ENUM, "type_name": ".p.E"}
    for n in range(1, size + 1):
        proto_field(message, n, **kind)
    return native([file])


def proto_fields(size: int, version: int) -> SchemaInfo:
    """Fields with another name and oneof in each version."""
    file, count = proto_file(), max(size // 10, 1)
    message = file.message_type.add(name="M")
    for n in range(count):
        message.oneof_decl.add(name=f"o{n}")
    for n in range(size):
        names = {"name": f"v{version}_{n}", "json_name": f"j{version}_{n}"}
        proto_field(message, 1 + n, type=_F.TYPE_INT32, oneof_index=(n + version) % count, **names)
    return native([file])


def _pair(key: Family, value: Family) -> Family:
    return lambda size, version: encode(KeyValue(Part(key(size, version)), Part(value(size, version)), Encoding.INLINE))


_AVRO: Final = (
    *(full, back, straight, by_enum, many_fields, unions_of_fields, aliases, field_aliases, aliased_defaults),
    *(large_defaults, partial_defaults, long_names, chained_defaults, array_of_unions, symbols, crossed_enums),
    *(nested_arrays, mutually_recursive, later_names, moved, rounded, logical, fixeds),
)
FAMILIES: Final[Mapping[str, Family]] = {
    **{each.__name__: avro(each) for each in _AVRO},
    **{each.__name__: each for each in (proto_circles, proto_enums, proto_fields)},
    "json of rounded": avro(rounded, SchemaType.JSON),
    "protobuf of full": avro(full, SchemaType.PROTOBUF),
    "pair of full and back": _pair(avro(full), avro(back)),
    "pair of enums and aliases": _pair(avro(symbols, SchemaType.JSON), avro(aliases)),
    "pair of fields and circles": _pair(proto_fields, proto_circles),
}
