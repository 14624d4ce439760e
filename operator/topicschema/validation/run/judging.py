"""Validation of each message of a batch by the validator of its writer version.

Reasons and paths are codes of one table for all versions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.verdicts import Loss, Validator
from topicschema.validation.errors import InvalidQuestionError
from topicschema.validation.report.tally import UNKNOWN_WRITER
from topicschema.validation.run.batches import DAMAGED, ENCRYPTED, INVALID_KEY, NO_VERSION

Numbers = NDArray[np.int64]
Losses = Sequence[tuple[Loss, int]]
JudgeOf = Callable[[SchemaInfo, SchemaInfo | None, PulsarLine], Validator]
UNKNOWN_VERSION: Final = "UNKNOWN_WRITER_VERSION"
"""Reason of messages whose schema version is not in the request, so that their writer is unknown."""
UNJUDGED: Final[Mapping[int, str]] = {
    ENCRYPTED: "ENCRYPTED",
    DAMAGED: "CHECKSUM_MISMATCH",
    INVALID_KEY: "INVALID_BASE64",
}
"""Reasons of messages that cannot be read, or only with a key. They are not validated and do not pass."""
_FITS: Final = 0
_ROOT: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Verdicts on a batch, one for each row. `reason` and `path` are codes of the Judging, 0 if the message fits.

    `writer` is the schema version if the request has it, else UNKNOWN_WRITER. `losses` has, for each writer, the losses
    and the number of its messages with each.
    """

    writer: Numbers
    reason: Numbers
    path: Numbers
    offset: Numbers
    losses: Sequence[tuple[int, Losses]]


class Judging:
    """Validators of one run in one process, each created for the first message of its version."""

    def __init__(
        self, candidate: SchemaInfo, versions: Mapping[int, SchemaInfo], line: PulsarLine, validator_for: JudgeOf
    ) -> None:
        self._candidate = candidate
        self._versions = versions
        self._line = line
        self._judge_of = validator_for
        self._codes: dict[str, int] = {"": _FITS, "$": _ROOT}
        self._judges: dict[int, _Coded] = {}
        self._has_keys = candidate.type is SchemaType.KEY_VALUE
        self.words = ["", "$"]
        """Reasons and paths by code. The list grows while batches are validated."""
        self.tolerated: set[str] = set()
        """Reasons that a Java consumer always tolerates."""

    def judge(self, batch: pa.RecordBatch) -> Judged:
        """Return the verdicts on a batch of the schema `batches.BATCH`.

        Raises InvalidQuestionError if the candidate is not a valid schema.
        """
        versions = batch.column("writer").to_numpy()
        losses: list[tuple[int, Losses]] = []
        blank = np.zeros(len(versions), np.int64)
        judged = Judged(versions.copy(), blank, blank.copy(), blank - 1, losses)
        payloads = column_of(batch.column("payload"))
        keys = column_of(batch.column("key")) if self._has_keys else None
        for version, rows in _by_version(versions):
            judge = self._judge(version)
            if judge is None:
                word = UNJUDGED.get(version, UNKNOWN_VERSION)
                judged.reason[rows], judged.path[rows] = self._code(word), _ROOT
                judged.writer[rows] = version if version in UNJUDGED else UNKNOWN_WRITER
                continue
            own_keys = None if keys is None else keys.only(rows)
            losses.append((version, judge(payloads.only(rows), own_keys, rows, judged)))
        return judged

    def _judge(self, version: int) -> "_Coded | None":
        """Return the validator of the version. Return None if its writer is unknown."""
        if version not in self._judges:
            made = self._made(version)
            if made is None:
                return None  # not cached: the number of unknown versions is unlimited
            self._judges[version] = made
        return self._judges[version]

    def _made(self, version: int) -> "_Coded | None":
        # A consumer reads messages without a version with its own schema, as if that had written them.
        writer = self._candidate if version == NO_VERSION else self._versions.get(version)
        if writer is None:
            return None
        try:
            validator = self._judge_of(self._candidate, writer, self._line)
        except InvalidSchemaError as error:
            raise InvalidQuestionError(f"the proposed schema cannot be judged with: {error.sentence}") from None
        return _Coded(validator, self._code, self.tolerated)

    def _code(self, word: str) -> int:
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self.words)
            self.words.append(word)
        return code


class _Coded:
    """Validator whose reasons and paths are codes of the run."""

    def __init__(self, validator: Validator, code: Callable[[str], int], tolerated: set[str]) -> None:
        self._validator = validator
        self._code = code
        self._tolerated = tolerated
        self._reasons = np.zeros(0, np.int64)
        self._paths = np.zeros(0, np.int64)

    def __call__(self, payloads: Column, keys: Column | None, rows: Numbers, judged: "Judged") -> Losses:
        """Write the verdicts on the payloads of `rows`, and return their losses."""
        found = self._validator.validate(payloads, keys)
        self._reasons = self._grown(self._reasons, self._validator.reasons)
        self._paths = self._grown(self._paths, self._validator.paths)
        self._tolerated |= self._validator.tolerated
        bad = np.flatnonzero(found.reasons)
        at = rows[bad]
        judged.reason[at], judged.path[at] = self._reasons[found.reasons[bad]], self._paths[found.paths[bad]]
        judged.offset[at] = found.offsets[bad]
        return [(loss, int(count)) for loss, count in zip(self._validator.losses, found.losses, strict=False) if count]

    def _grown(self, codes: Numbers, words: Sequence[str]) -> Numbers:
        if len(words) == len(codes):
            return codes
        more = [self._code(each) for each in words[len(codes) :]]
        return np.concatenate([codes, np.array(more, np.int64)])


def column_of(array: pa.Array) -> Column:
    """Return a large_binary array as a column over the same memory."""
    _, bounds, values = array.buffers()
    offsets = np.zeros(1, np.int64)
    if bounds is not None and len(array):
        offsets = np.frombuffer(bounds, np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.zeros(0, np.uint8) if values is None else np.frombuffer(values, np.uint8)
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Column.between(content, offsets, nulls)


def _by_version(versions: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield each version with its rows."""
    for version in pa.array(versions).unique().to_pylist():
        yield version, np.flatnonzero(versions == version)
