"""Each message of a batch judged by the judge of its own writer version; codes instead of words, one table for all."""

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
from topicschema.validation.run.batches import DAMAGED, ENCRYPTED, NO_VERSION, STRANGE_KEY

Numbers = NDArray[np.int64]
Losses = Sequence[tuple[Loss, int]]
JudgeOf = Callable[[SchemaInfo, SchemaInfo | None, PulsarLine], Validator]
UNKNOWN_VERSION: Final = "UNKNOWN_WRITER_VERSION"
"""The reason for messages whose schema version the question does not have: nobody can say what wrote them."""
UNJUDGED: Final[Mapping[int, str]] = {
    ENCRYPTED: "ENCRYPTED",
    DAMAGED: "CHECKSUM_MISMATCH",
    STRANGE_KEY: "INVALID_BASE64",
}
"""The reasons for messages that nobody, or nobody without a key, can read: they were not judged, and do not pass."""
_FITS: Final = 0
_ROOT: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A batch's verdicts, a row each: `reason` and `path` are codes of the Judging, 0 where the message fits.

    `writer` is the version where the question has it, else UNKNOWN_WRITER. `losses` are for a writer how many of its
    messages lose what.
    """

    writer: Numbers
    reason: Numbers
    path: Numbers
    offset: Numbers
    losses: Sequence[tuple[int, Losses]]


class Judging:
    """The judges of one run in one process, each made when the first message of its version comes."""

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
        """Reasons and paths, by code; grows while batches are judged."""
        self.tolerated: set[str] = set()
        """The reasons over which a Java consumer always reads on."""

    def judge(self, batch: pa.RecordBatch) -> Judged:
        """The verdicts on batches.BATCH; InvalidQuestionError where the candidate is no schema."""
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
        """The version's judge; None where nobody can say what wrote its messages."""
        if version not in self._judges:
            made = self._made(version)
            if made is None:
                return None  # not kept: of versions that nobody has there may be any number
            self._judges[version] = made
        return self._judges[version]

    def _made(self, version: int) -> "_Coded | None":
        # A consumer reads messages that name no version with its own schema, as if they were written with it.
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
    """A judge whose words are the run's codes."""

    def __init__(self, validator: Validator, code: Callable[[str], int], tolerated: set[str]) -> None:
        self._validator = validator
        self._code = code
        self._tolerated = tolerated
        self._reasons = np.zeros(0, np.int64)
        self._paths = np.zeros(0, np.int64)

    def __call__(self, payloads: Column, keys: Column | None, rows: Numbers, judged: "Judged") -> Losses:
        """Writes the verdicts on a batch's payloads, which are those in `rows`; what is lost of them."""
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
    """A large_binary array as a column over the same memory."""
    _, bounds, values = array.buffers()
    offsets = np.zeros(1, np.int64)
    if bounds is not None and len(array):
        offsets = np.frombuffer(bounds, np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.zeros(0, np.uint8) if values is None else np.frombuffer(values, np.uint8)
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Column.between(content, offsets, nulls)


def _by_version(versions: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Each version and its rows."""
    for version in pa.array(versions).unique().to_pylist():
        yield version, np.flatnonzero(versions == version)
