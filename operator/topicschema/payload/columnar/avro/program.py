"""What a program is: numbers only, so that it is small, can be sent to a worker, and needs no schema to run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.avro.branches import Branches


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """How messages of one writer are read by one reader.

    `code` has a row for each instruction, see `operations`; `table` the branches of unions, as instructions, and the
    symbols of enums; `routes` the paths and losses that the instructions speak of.
    """

    code: NDArray[np.int32]
    table: NDArray[np.int32]
    routes: Branches
