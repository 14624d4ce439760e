"""The mutants of a source: one place each, chosen so that a person would call the change a mistake.

Left alone are texts for people (those with a space), types, docstrings and what a type checker alone reads.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COUNTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """The text of the node from `start` to `end` (offsets in bytes) becomes `text`."""

    line: int
    start: int
    end: int
    before: str
    text: str

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants(source: bytes) -> list[Mutant]:
    """All of them, in the order of the text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, changed in _changes(ast.parse(source)):
        start, end = (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0),
        )
        text = ast.unparse(changed)
        found.append(
            Mutant(
                node.lineno, start, end, source[start:end].decode(), text if isinstance(node, ast.stmt) else f"({text})"
            )
        )
    return sorted(found, key=lambda each: (each.start, each.end, each.text))


_Node = ast.expr | ast.stmt


def _changes(tree: ast.AST) -> Iterator[tuple[_Node, ast.AST]]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr | ast.stmt):
            for change in _CHANGES:
                yield from ((node, changed) for changed in change(node))
        waiting.extend(_inside(node))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes within, without types, docstrings, decorators, imports and formatted texts."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(node, ast.Call):
            continue
        for each in value if isinstance(value, list) else [value]:
            is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if (
                isinstance(each, ast.AST)
                and not is_text
                and not isinstance(each, ast.JoinedStr | ast.Import | ast.ImportFrom)
            ):
                yield each


def _compared(node: _Node) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[index] = _COMPARED[type(operator)]()
            yield changed


def _joined(node: _Node) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield from node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _counted(node: _Node) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in _COUNTED:
        yield ast.BinOp(node.left, _COUNTED[type(node.op)](), node.right)


def _constant(node: _Node) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, str) and " " not in node.value:
        yield ast.Constant(node.value + "Z")
    elif isinstance(node.value, bytes):
        yield ast.Constant(node.value + b"Z")


def _decided(node: _Node) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


def _left_out(node: _Node) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise | ast.Continue | ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom)
    ):
        yield ast.Pass()
    if isinstance(node, ast.Break):
        yield ast.Continue()


_CHANGES: Final[tuple[Callable[[_Node], Iterator[ast.AST]], ...]] = (
    _compared,
    _joined,
    _counted,
    _constant,
    _decided,
    _left_out,
)
