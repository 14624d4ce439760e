"""Programs: only numbers, so that they are small, can be sent to a worker, and run without a schema."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.avro.branches import Branches


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Program for the messages of one writer and one reader.

    `code` has a row for each instruction, see `opcodes`. `table` has the branches of unions, as instructions, and the
    symbols of enums. `routes` has the paths and losses of the instructions.
    """

    code: NDArray[np.int32]
    table: NDArray[np.int32]
    routes: Branches
