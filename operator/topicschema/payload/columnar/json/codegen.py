"""Generator of a Python function that returns whether a JSON value surely fits a schema.

The function counts the members of the objects in the value, because a value does not show duplicate names. It does not
know the fault, which the walk finds. So it may reject a value that fits (for instance one nested deeper than
MAX_LEVELS), and must never accept one that does not.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from topicschema.core.formats.avro.model import Array, Map, Node, Primitive, Record, Union
from topicschema.payload.codec import HOLDERS
from topicschema.payload.columnar.json import leaves, writer_types
from topicschema.payload.columnar.json.writer_types import Nodes
from topicschema.payload.columnar.verdicts import MAX_PATHS, Loss
from topicschema.payload.json import jackson, java_classes
from topicschema.payload.json.walk import may_be_absent

MAX_LEVELS: Final = 64
FIELD_DROPPED: Final = "FIELD_DROPPED"
_MOST_FUNCTIONS: Final = 20_000

DOES_NOT_FIT: Final = -1
ValueCheck = Callable[[Any], int]


def checker(reader: Node, writer: Nodes, lose: leaves.Lose) -> ValueCheck:
    """Return a function that counts the members of a value's objects.

    A negative count means that the value may not fit.

    Losses of a value that fits are passed to `lose`, perhaps several times each.
    """
    source = _Source(lose)
    source.write(_Place(reader, writer, "$", None))
    exec(compile(source.text, "<checker of a JSON schema>", "exec"), source.names)  # noqa: S102  # of numbers, `repr`
    check: ValueCheck = source.names["check"]
    return check


class _Place(NamedTuple):
    """A type of the reader at a place, the types it may have been written as, and the enclosing place."""

    node: Node
    written: Nodes
    path: str
    parent: "_Place | None"

    def at(self, node: Node, written: Nodes, step: str) -> "_Place":
        """Return the place of a part of this one."""
        return _Place(node, written, f"{self.path}{step}", self)

    @property
    def key(self) -> tuple[Node, Nodes]:
        """The properties that decide how a value is checked."""
        return self.node, self.written

    def recurring(self) -> "_Place":
        """Return the place itself, or an enclosing one with the same check.

        So paths do not repeat recursive types.
        """
        place = self.parent
        while place is not None:
            if place.key == self.key:
                return place
            place = place.parent
        return self


def _dropping(known: frozenset[str], losses: dict[str, Loss], lose: leaves.Lose) -> Callable[[Any], bool]:
    """Return a function that reports fields which the reader drops. It returns True if the writer had all of them."""

    def drop(value: dict[str, Any]) -> bool:
        for name in value.keys() - known:
            loss = losses.get(name)
            if loss is None:
                return False
            lose(loss)
        return True

    return drop


class _Source:
    """Text of the functions, and the objects that their names refer to."""

    def __init__(self, lose: leaves.Lose) -> None:
        self.names: dict[str, Any] = {"A": object()}
        self._lose = lose
        self._lines: list[str] = []
        self._made: dict[object, str] = {}
        self._waiting: list[tuple[str, _Place]] = []

    @property
    def text(self) -> str:
        """Return the source."""
        return "\n".join(self._lines)

    def write(self, root: _Place) -> None:
        """Write `check(value)` and all functions that it calls."""
        self._lines += ["def check(v):", " global t", " t = d = 0"]
        self._lines += [f" return t if {self._expression(root, 'v')} else {DOES_NOT_FIT}"]
        while self._waiting:
            name, place = self._waiting.pop()
            self._lines.append(f"def {name}(v, d):")
            self._lines += (f" {line}" for line in self._body(place))

    def _named(self, meaning: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = meaning
        return name

    def _function(self, place: _Place) -> str:
        """Return the name of the function for a place. Beyond the limit, equal places share one."""
        if place.recurring() is not place:
            place = place.recurring()
        shared = len(self._made) >= MAX_PATHS
        key: object = place.key if shared else (place.key, place.path)
        if key not in self._made:
            if len(self._made) >= _MOST_FUNCTIONS:
                return self._named(lambda *_: False)
            self._made[key] = f"f{len(self._made)}"
            self._waiting.append((self._made[key], place))
        return self._made[key]

    def _expression(self, place: _Place, value: str) -> str:
        """Return the expression that is true if the value surely fits."""
        node = place.node
        if isinstance(node, Union):
            return self._union(node, place, value)
        fits = self._fitting(place, value)
        form, limit = jackson.form_of(node), java_classes.limit_of(node)
        if form is not None:
            fits = f"({fits} or {self._named(form)}({value}))"
        return fits if limit is None else f"({fits} and {self._named(limit)}({value}))"

    def _fitting(self, place: _Place, value: str) -> str:
        """Return the expression that is true if the value is of the type, which is no union."""
        node = place.node
        if isinstance(node, HOLDERS):
            return f"{self._function(place)}({value}, d + 1)"
        if isinstance(node, Primitive) and node.kind in leaves.PLAIN:
            return leaves.PLAIN[node.kind].format(value)
        check = leaves.of(node)
        if check is None and isinstance(node, Primitive):
            narrows = "double" in {each.kind for each in place.written if isinstance(each, Primitive)}
            check = leaves.real(node, place.path, self._lose, narrows=narrows)
        return f"{self._named(check)}({value})"

    def _union(self, node: Union, place: _Place, value: str) -> str:
        others = [branch for branch in node.branches if not _is_null(branch)]
        if len(others) != 1:
            return f"{self._function(place)}({value}, d)"
        inner = self._expression(place.at(others[0], place.written, ""), value)
        return inner if len(others) == len(node.branches) else f"({value} is None or {inner})"

    def _body(self, place: _Place) -> Iterator[str]:
        node = place.node
        if isinstance(node, Union):
            yield from self._choice(node, place)
            return
        shape = "list" if isinstance(node, Array) else "dict"
        yield f"if v.__class__ is not {shape} or d > {MAX_LEVELS}: return False"
        if shape == "dict":
            yield "global t"
            yield "m = len(v)"
            yield "t += m"
        if isinstance(node, Record):
            yield from self._record(node, place)
            return
        held = (
            place.at(node.items, writer_types.items(place.written), "[]")
            if isinstance(node, Array)
            else place.at(node.values, writer_types.values(place.written), "{}")  # type: ignore[attr-defined]  # a Map
        )
        yield f"for x in {'v' if isinstance(node, Array) else 'v.values()'}:"
        yield f" if not {self._expression(held, 'x')}: return False"
        yield "return True"

    def _record(self, node: Record, place: _Place) -> Iterator[str]:
        yield f"n = {sum(not may_be_absent(field) for field in node.fields)}"
        yield "try:"
        yield " pass"
        for field in node.fields:
            held = place.at(field.type, writer_types.field(place.written, field.name), f".{field.name}")
            fits = self._expression(held, "x")
            if may_be_absent(field):
                yield f" x = v.get({field.name!r}, A)"
                yield " if x is not A:"
                yield "  n += 1"
                yield f"  if not {fits}: return False"
            else:
                yield f" x = v[{field.name!r}]"
                yield f" if not {fits}: return False"
        yield "except KeyError: return False"
        known = frozenset(field.name for field in node.fields)
        losses = {
            name: Loss(FIELD_DROPPED, f"{place.path}.{name}") for name in writer_types.names(place.written) - known
        }
        yield f"return n == m or {self._named(_dropping(known, losses, self._lose))}(v)"

    def _choice(self, node: Union, place: _Place) -> Iterator[str]:
        """Yield the choice of a value's branch, like payload/json's walk."""
        nulls = [branch for branch in node.branches if _is_null(branch)]
        others = [branch for branch in node.branches if not _is_null(branch)]
        yield f"if v is None: return {bool(nulls)}"
        yield "if v.__class__ is dict:"
        objects = [branch for branch in others if isinstance(branch, Record | Map)]
        for branch in objects:
            held = self._expression(place.at(branch, place.written, ""), "v")
            yield f" if {self._has_fields(branch)}: return {held}"
        first = self._expression(place.at(objects[0], place.written, ""), "v") if objects else "False"
        yield f" return {first}"
        arrays = [branch for branch in others if isinstance(branch, Array)]
        held = self._expression(place.at(arrays[0], place.written, ""), "v") if arrays else "False"
        yield f"if v.__class__ is list: return {held}"
        singles = [branch for branch in others if not isinstance(branch, HOLDERS)]
        checks = [self._expression(place.at(branch, place.written, ""), "v") for branch in singles]
        yield f"return {' or '.join(checks) or 'False'}"

    def _has_fields(self, branch: Record | Map) -> str:
        if not isinstance(branch, Record):
            return "True"
        known = self._named(frozenset(field.name for field in branch.fields))
        required = self._named(frozenset(field.name for field in branch.fields if not may_be_absent(field)))
        return f"v.keys() <= {known} and v.keys() >= {required}"


def _is_null(node: Node) -> bool:
    return isinstance(node, Primitive) and node.kind == "null"
