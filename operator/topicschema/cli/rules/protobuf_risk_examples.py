"""Examples of the risks of PROTOBUF_NATIVE: small files, which are compiled first and checked one after the other."""

from typing import Final

from topicschema.cli.rules.protobuf_sources import ProtoExample
from topicschema.cli.rules.rule import Example, Rule
from topicschema.core.policy import Strictness
from topicschema.core.strategies import Strategy

_HEADS: Final = {"2023": 'edition = "2023";', "proto2": 'syntax = "proto2";', "proto3": 'syntax = "proto3";'}


_BEGINNINGS: Final = tuple(_HEADS.values())
_ONE_LINE: Final = 58


def file(fields: str, others: str = "", syntax: str = "proto3") -> str:
    """Return a file whose message Order has the fields."""
    body = f"message Order {{ {fields} }}" if len(fields) < _ONE_LINE else f"message Order {{\n  {fields}\n}}"
    return "\n".join(filter(None, (_HEADS[syntax], others, body)))


def risk(name: str, meaning: str, advice: str, texts: tuple[str, str, str], strategy: str = "BACKWARD") -> Rule:
    """Return a rule with version 0, a candidate that is refused after it, and one that is accepted."""
    earlier, refused, accepted = (each if each.startswith(_BEGINNINGS) else file(each) for each in texts)
    return Rule(name, meaning, advice, _example(refused, earlier, strategy), _example(accepted, earlier, strategy))


def _example(candidate: str, earlier: str, strategy: str) -> Example:
    return ProtoExample(candidate, earlier, strategy=Strategy(strategy), strictness=Strictness.STRICT)
