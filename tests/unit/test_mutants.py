"""The tool that mutates `core`: its mutants are one change each, and all of them are Python."""

import ast

from mutation.mutants import mutants

SOURCE = b'''"""Words."""
from typing import Final
LIMIT: Final = 3
def first(names: list[str], at: int = 0) -> str | None:
    """Words."""
    if not names or at >= LIMIT:
        raise ValueError(f"{at} is too many")
    return names[at + 1] if at in range(2) else "none"
'''


def test_each_mutant_changes_one_place_of_the_code() -> None:
    found = mutants(SOURCE)
    assert all(ast.unparse(ast.parse(each.applied(SOURCE))) != ast.unparse(ast.parse(SOURCE)) for each in found)
    changed = {(each.line, each.before, each.text) for each in found}
    assert {
        (3, "3", "(4)"),
        (6, "not names", "(names)"),
        (6, "at >= LIMIT", "(at > LIMIT)"),
        (6, "not names or at >= LIMIT", "(not names and at >= LIMIT)"),
        (8, "at + 1", "(at - 1)"),
        (8, "at in range(2)", "(at not in range(2))"),
        (8, '"none"', "('noneZ')"),
    } <= changed
    assert ('raise ValueError(f"{at} is too many")', "pass") in {(before, text) for _, before, text in changed}


def test_texts_for_people_and_types_are_left_alone() -> None:
    places = {each.before for each in mutants(SOURCE)}
    assert not any(each.startswith(('f"', '"Words', "str |", "Final")) for each in places)
