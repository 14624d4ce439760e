"""Encoding of defaults for fields that only the reader has, by the rules of Avro's grammar generator.

Avro encodes the default and reads it back (ResolvingGrammarGenerator.encode, GenericData.getDefaultValue). That is
laxer than the validation of a schema's own defaults (`defaults`). Any number fits any numeric type, and a value that is
no array or object counts as an empty one. It can also be infinite, if a record's default leads back to the record. In a
union, 1.11 takes the first branch. 1.12 takes the first that may be of the value's kind, and every record, enum, array
and map may be.
"""

from collections.abc import Iterable, Mapping
from types import GeneratorType, MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.trampoline import Computation, run, settled
from topicschema.core.formats.avro.model import ABSENT, Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.names import shown
from topicschema.core.steps import PER_DEFAULT, Steps, TooComplexError

RECURSIVE: Final = "RECURSIVE_DEFAULT"
UNFIT: Final = "INVALID_DEFAULT"

Failure = tuple[str, str]
"""A rule ID, and the error of the default, worded to follow `the default of field x`."""

_NUMBERS: Final = frozenset({int, float})
_TEXTS: Final = frozenset({str})
_ACCEPTED: Final[Mapping[str, frozenset[type]]] = MappingProxyType(
    {
        "null": frozenset({type(None)}),
        "boolean": frozenset({bool}),
        **dict.fromkeys(("int", "long", "float", "double"), _NUMBERS),
        **dict.fromkeys(("bytes", "string"), _TEXTS),
    }
)
_SHOWN: Final[Mapping[type, str]] = MappingProxyType(
    {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "an array"}
)
_MOST_STEPS: Final = 100_000
_OWN_TEXT_IS_NUMBER: Final = frozenset({"float", "double"})


class DefaultTrials:
    """Trials of defaults, one for each field."""

    __slots__ = ("_branches", "_empty", "_known", "_library", "_steps", "_symbols")

    def __init__(self, library: Library, steps: Steps | None = None) -> None:
        self._steps = steps
        self._known: dict[Field, Failure | None] = {}
        self._empty: dict[Record, Failure | None] = {}
        """The results for records to which a default gives no field."""
        self._library = library
        self._branches: dict[tuple[Union, type], Node | None] = {}
        """The branch of each union for values of a kind."""
        self._symbols: dict[Enum, frozenset[str]] = {}

    def of(self, field: Field) -> "Failure | Computation[Failure | None] | None":
        """Return the error of the field's default, None if Avro can insert it, or the step that computes this."""
        node, value = field.type, field.default
        if node.__class__ is Union:
            node = self._branch(node, value) or node
        if node.__class__ is Primitive:
            return _primitive(node, value) if node is not field.type else _own_primitive(node, value)
        return self._empty[node] if not value and node in self._empty else self._own(field)

    def _own(self, field: Field) -> Computation[Failure | None]:
        """Return the error of the field's own default, tried once. A default that leads back to itself is infinite."""
        if field not in self._known:
            self._known[field] = (RECURSIVE, f"comes back to itself at field {shown(field.name)}, without end")
            if field.type.__class__ is Primitive:
                self._known[field] = _own_primitive(field.type, field.default)
            else:
                self._known[field] = yield self._encode(field.type, field.default)
        return self._known[field]

    def _branch(self, union: Union, value: Any) -> Node | None:
        if self._library is Library.AVRO_1_11:
            return union.branches[0] if union.branches else None
        key = union, value.__class__
        if key not in self._branches:
            if self._steps:
                self._steps.take(len(union.branches))
            self._branches[key] = _first_alike(union, value)
        return self._branches[key]

    def _encode(self, node: Node, value: Any) -> Computation[Failure | None]:
        if self._steps:
            self._steps.take(PER_DEFAULT + (len(value) if isinstance(value, list | dict) else 0))
        if isinstance(node, Union):
            branch = self._branch(node, value)
            if branch is None:
                empty = "cannot fit an empty union"
                return UNFIT, f"is {_shown(value)}, which fits no branch of its union" if node.branches else empty
            node = branch
        failure: Failure | None
        if isinstance(node, Record):
            failure = yield self._record(node, value)
        elif isinstance(node, Array):
            failure = yield self._all(node.items, _values(value))
        elif isinstance(node, Map):
            if isinstance(value, list) and value:
                return UNFIT, "is an array, where an object is needed"
            failure = yield self._all(node.values, _values(value))
        else:
            failure = self._leaf(node, value)
        return failure

    def _all(self, node: Node, values: Iterable[Any]) -> Computation[Failure | None]:
        failure: Failure | None = None
        for value in values:
            failure = _primitive(node, value) if node.__class__ is Primitive else (yield self._encode(node, value))
            if failure is not None:
                break
        return failure

    def _record(self, record: Record, value: Any) -> Computation[Failure | None]:
        members = value if isinstance(value, dict) else {}
        if not members and record in self._empty:
            return self._empty[record]
        if self._steps:
            self._steps.take(len(record.fields))
        failure: Failure | None = None
        for field in record.fields:
            if field.name in members:
                failure = yield self._encode(field.type, members[field.name])
            elif field.default is ABSENT:
                failure = UNFIT, f"lacks {shown(field.name)}, which has no default in {shown(record.full_name)}"
            else:
                own: Any = self.of(field)
                failure = (yield own) if own.__class__ is GeneratorType else own
            if failure is not None:
                break
        if not members:
            self._empty[record] = failure
        return failure

    def _leaf(self, node: Node, value: Any) -> Failure | None:
        if isinstance(node, Primitive):
            return _primitive(node, value)
        if isinstance(node, Enum):
            if node not in self._symbols:
                self._symbols[node] = frozenset(node.symbols)
            if isinstance(value, str) and value in self._symbols[node]:
                return None
            return UNFIT, f"is not among the symbols of {shown(node.full_name)}"
        if isinstance(node, Fixed) and not isinstance(value, str):
            return UNFIT, f"is {_shown(value)}, which does not fit {shown(node.full_name)}"
        return None


def can_insert(fields: Iterable[Field]) -> bool:
    """Return True if both libraries can insert the defaults of the fields, as a bounded number of steps shows."""
    defaulted = [field for field in fields if field.default is not ABSENT]
    steps = Steps(_MOST_STEPS)
    try:
        for library in Library:
            defaults = DefaultTrials(library, steps)
            if any(run(settled(defaults.of(field))) is not None for field in defaulted):
                return False
    except TooComplexError:
        return False
    return True


def _values(value: Any) -> Iterable[Any]:
    """Return the elements of a value that Avro treats as an array."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def never_read_back(infinite: Record) -> Failure:
    """Return the error of a default whose type leads to a record that directly contains itself."""
    name = shown(infinite.full_name)
    return RECURSIVE, f"is read back by its type, where record {name} contains itself directly, without end"


def is_plain_null(field: Field) -> bool:
    """Return True if Avro takes the default for null directly, without encoding it and reading it back."""
    kind = field.type
    if kind.__class__ is Union and kind.branches:
        kind = kind.branches[0]
    return field.default is None and kind.__class__ is Primitive and kind.kind == "null"


def _first_alike(union: Union, value: Any) -> Node | None:
    """Return the first branch that is neither a primitive of another kind nor, for a value that is no string, a fixed.

    Source: isCompatible, Avro 1.12.
    """
    for branch in union.branches:
        if branch.__class__ is Primitive:
            if value.__class__ in _ACCEPTED[branch.kind]:
                return branch
        elif branch.__class__ is not Fixed or isinstance(value, str):
            return branch
    return None


def _own_primitive(node: Primitive, value: Any) -> Failure | None:
    # For these two, Avro's parser has converted a field's own string to a number ("NaN", "Infinity", "1").
    if value.__class__ is str and node.kind in _OWN_TEXT_IS_NUMBER:
        return None
    return _primitive(node, value)


def _primitive(node: Primitive, value: Any) -> Failure | None:
    if value.__class__ in _ACCEPTED[node.kind]:
        return None
    return UNFIT, f"is {_shown(value)}, which does not fit {node.kind}"


def _shown(value: Any) -> str:
    return _SHOWN.get(type(value), "an object")
