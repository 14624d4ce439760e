"""Families whose many parts each resolve a name among many others: a scan for each would be quadratic."""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from hostile.costly import Family, avro, native, proto_field, proto_file
from support.schemas.avro import array, enum, field, fixed, record
from topicschema.core.schemas import PulsarVersion, SchemaInfo

_F: Final = FieldDescriptorProto


def wide_unions(size: int, version: int) -> Any:
    """Return a union of ten records with a union of many, and a reader with as many that lack a default."""
    if version % 2 == 0:
        inner = [record(f"I{n}") for n in range(size)]
        rows = [record("W0", field("x", inner))]
        rows += [record(f"W{n}", field("x", [f"I{k}" for k in range(size // 20)])) for n in range(1, 10)]
        return record("Root", field("u", rows))
    return record("Root", field("u", [record(f"R{n}", field("y", "int")) for n in range(size)]))


def many_aliases(size: int, version: int) -> Any:
    """Return one record of many aliases in many fields, which are other records in the version before."""
    if version % 2 == 0:
        return record("Root", *(field(f"f{n}", record(f"W{n}")) for n in range(size)))
    first = field("f0", record("One", aliases=[f"a{n}" for n in range(4 * size)]))
    return record("Root", first, *(field(f"f{n}", "One") for n in range(1, size)))


def many_field_aliases(size: int, version: int) -> Any:
    """Return the same with the aliases of the other records, and many of a field."""
    if version % 2 == 0:
        return record("Root", *(field(f"f{n}", record(f"W{n}", field("v", "int"))) for n in range(size)))
    inner = field("v", "long", aliases=[f"a{n}" for n in range(2 * size)])
    first = field("f0", record("One", inner, aliases=[f"W{n}" for n in range(size)]))
    return record("Root", first, *(field(f"f{n}", "One") for n in range(1, size)))


def many_branch_aliases(size: int, version: int) -> Any:
    """Unions of one record of many aliases."""
    kind = "string" if version % 2 else "bytes"
    one = record("One", field("i", kind), aliases=[f"a{n}" for n in range(4 * size)])
    return record("Root", field("f0", ["null", one]), *(field(f"f{n}", ["null", "One", kind]) for n in range(1, size)))


def late_branch_default(size: int, version: int) -> Any:
    """Return a default in a union of many types of no array, for many writers."""
    if version % 2 == 0:
        return record("Root", *(field(f"f{n}", record(f"v{n}.R")) for n in range(size)))
    branches = [*(fixed(f"F{n}", 1) for n in range(size)), "int"]
    first = field("f0", record("r.R", field("d", branches, default=1)))
    return record("Root", first, *(field(f"f{n}", "r.R") for n in range(1, size)))


def late_branch_defaults(size: int, version: int) -> Any:
    """Return a default of many values, each of which belongs to the last branch."""
    branches = [*(fixed(f"F{n}", 1) for n in range(size)), "int"]
    return record("Root", field(f"d{version}", array(branches), default=[1] * size))


def last_symbol(size: int, version: int) -> Any:
    """Return a default of many values, each the last symbol of an enum."""
    symbols = [f"S{n}" for n in range(size)]
    return record("Root", field(f"d{version}", array(enum("E", *symbols)), default=[symbols[-1]] * size))


def renamed_enum(size: int, version: int) -> Any:
    """Return an enum of many symbols in many fields, renamed by an alias."""
    rest = {"aliases": [f"E{version - 1}"]} if version else {}
    first = field("f0", enum(f"E{version}", *(f"S{n}" for n in range(size)), **rest))
    return record("Root", first, *(field(f"f{n}", f"E{version}") for n in range(1, size)))


def unmatched_branches(size: int, version: int) -> Any:
    """Return a record of many fields that the branch of many unions lacks."""
    inner = [field(f"v{n}", array("int" if version % 2 else "string")) for n in range(size // 2)]
    last = field("last", "int" if version % 2 else "string")
    one = record(f"R{version % 2}", *inner, last)
    fields = (field(f"f{n}", ["null", f"R{version % 2}"]) for n in range(1, size))
    return record("Root", field("f0", ["null", one]), *fields)


def equal_unions(size: int, version: int) -> Any:
    """Records of large unions, each compared with each."""
    many = max(int(size**0.5), 1)
    names = [f"{'AB'[version % 2]}{n}" for n in range(many)]
    shared = [fixed(f"F{n}", 1) for n in range(many)]
    rest = [f"F{n}" for n in range(many)]
    rows = [record(each, field("i", "int"), field("u", shared if n == 0 else rest)) for n, each in enumerate(names)]
    fields = (field(f"f{n}", names[(n * (version + 1)) % many]) for n in range(size))
    return record("Root", *(field(f"r{n}", each) for n, each in enumerate(rows)), *fields)


def redefinitions(size: int, version: int) -> Any:
    """Definitions of a record within itself, which only Avro 1.12 accepts, each with another part of the first."""
    inner = [
        field(f"f{n}", record("Root", field(f"v{n if n % 3 else 0}", ["null", "Root"]), field("e", "E")))
        for n in range(size)
    ]
    return record("Root", field("e", enum("E", "A", f"B{version}")), *inner)


def chained_redefinitions(size: int, version: int) -> Any:
    """Chains of such definitions that differ at their ends only."""
    depth = 50
    fields = []
    for n in range(size // depth + 1):
        node: Any = field("x", "Root", **({"order": "ignore"} if n % 2 else {}))
        for _ in range(depth):
            node = field("x", record("Root", node))
        fields.append({**node, "name": f"f{n}"})
    return record("Root", *fields, field(f"v{version}", "int", default=0))


def circular_redefinitions(size: int, version: int) -> Any:
    """Two circles of records that differ in one of them, reached through definitions of the first."""
    names = [f"R{n}" for n in range(size)]
    circle: list[dict[str, Any]] = []
    for n, each in enumerate(names[1:], 1):
        following = names[(n + 1) % size]
        up = record("R0", field("x", each))
        circle.append(record(each, field("next", ["null", following]), field("up", ["null", up])))
    return record(
        "R0", *(field(f"f{n}", each) for n, each in enumerate(circle)), field(f"v{version}", "int", default=0)
    )


def json_names(size: int, version: int) -> SchemaInfo:
    """Fields that have one name in JSON."""
    file = proto_file()
    message = file.message_type.add(name="M")
    for n in range(size):
        proto_field(message, 1 + n + version * size, f"v{version}_{n}", type=_F.TYPE_INT32, json_name="x")
    return native([file])


def scope(size: int, version: int) -> SchemaInfo:
    """Fields of a message in 90 others, in a package of 60 parts, whose types are outside of all."""
    file = proto_file(".".join("p" * 60))
    file.message_type.add(name="M")
    count = max(size // 2, 1)
    for n in range(count):
        file.message_type.add(name=f"T{n}")
    message = file.message_type[0]
    for _ in range(90):
        message = message.nested_type.add(name="N")
    for n in range(count):
        proto_field(message, n + 1, type=_F.TYPE_MESSAGE, type_name=f"T{n}")
    return native([file], f"{file.package}.M" + "." * version)


def packages(size: int, version: int) -> SchemaInfo:
    """Files that all see many others, each of which has a package of 60 parts."""
    leaves = [proto_file(f"q{n}" + ".package" * 59, f"l{n}") for n in range(min(size, 480))]
    for each in leaves:
        each.message_type.add(name="L")
    hub = proto_file("h", "hub")
    hub.dependency.extend(each.name for each in leaves)
    hub.public_dependency.extend(range(len(leaves)))
    users = [proto_file("u", f"u{n}") for n in range(min(size, 480))]
    for each in users:
        each.dependency.append("hub")
    root = proto_file("p", "root")
    root.dependency.extend(each.name for each in users)
    root.message_type.add(name="M")
    return native([*leaves, hub, *users, root], "p.M" + "." * version)


def map_entries(size: int, version: int) -> SchemaInfo:
    """Lists of a message that claims to be a map's entry and has many fields."""
    file = proto_file()
    message, entry = file.message_type.add(name="M"), file.message_type.add(name=f"E{version}")
    entry.options.map_entry = True
    for n in range(1, size + 1):
        proto_field(entry, n, type=_F.TYPE_INT32)
        proto_field(message, n, type=_F.TYPE_MESSAGE, type_name=f".p.E{version}", label=_F.LABEL_REPEATED)
    return native([file])


def map_enums(size: int, version: int) -> SchemaInfo:
    """Maps whose values are of an enum in one version and integers in the next."""
    file = proto_file()
    message, entry = file.message_type.add(name="M"), file.message_type.add(name="E")
    entry.options.map_entry = True
    values = file.enum_type.add(name="V")
    for n in range(size):
        values.value.add(name=f"S{n}", number=n)
    kind = {"type": _F.TYPE_INT32} if version % 2 else {"type": _F.TYPE_ENUM, "type_name": ".p.V"}
    proto_field(entry, 1, type=_F.TYPE_INT32)
    proto_field(entry, 2, **kind)
    for n in range(1, size + 1):
        proto_field(message, n, f"v{version}_{n}", type=_F.TYPE_MESSAGE, type_name=".p.E", label=_F.LABEL_REPEATED)
    return native([file])


def entry_ranges(size: int, version: int) -> SchemaInfo:
    """Maps of one entry with many reserved ranges."""
    file = proto_file()
    message, entry = file.message_type.add(name="M"), file.message_type.add(name="E")
    entry.options.map_entry = True
    proto_field(entry, 1, type=_F.TYPE_INT32)
    proto_field(entry, 2, type=_F.TYPE_INT32)
    for n in range(size):
        entry.reserved_range.add(start=10 + 3 * n, end=11 + 3 * n)
    for n in range(1, size + 1):
        proto_field(message, n, type=_F.TYPE_MESSAGE, type_name=".p.E", label=_F.LABEL_REPEATED)
    return native([file], "p.M" + "." * version)


_AVRO: Final = (
    *(wide_unions, many_aliases, many_field_aliases, many_branch_aliases, late_branch_default, late_branch_defaults),
    *(last_symbol, renamed_enum, unmatched_branches, equal_unions),
    *(redefinitions, chained_redefinitions, circular_redefinitions),
)
_PROTOBUF: Final[tuple[Family, ...]] = (json_names, scope, packages, map_entries, map_enums, entry_ranges)
_NEWER: Final = frozenset(
    {"late_branch_default", "late_branch_defaults", "redefinitions", "chained_redefinitions", "circular_redefinitions"}
)
LOOKUPS: Final[Mapping[str, Family]] = {
    **{each.__name__: avro(each) for each in _AVRO},
    **{each.__name__: each for each in _PROTOBUF},
}


def pulsar_version(name: str) -> PulsarVersion:
    """Return the version under which a family is judged: the oldest that accepts its texts."""
    return PulsarVersion.V4_1 if name in _NEWER else PulsarVersion.V4_0
