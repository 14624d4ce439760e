"""Changes to a protobuf file as people make them: BREAKING, by the rule that speaks of them, and HARMLESS.

A step changes the file in place and says whether it found something to change; it may break other rules, too.
"""

from protobuf_evolution import of_fields, of_others
from protobuf_evolution.harmless import HARMLESS
from protobuf_evolution.picks import Step

__all__ = ["BREAKING", "HARMLESS", "Step"]

BREAKING: dict[str, tuple[Step, ...]] = of_fields.BREAKING | of_others.BREAKING
