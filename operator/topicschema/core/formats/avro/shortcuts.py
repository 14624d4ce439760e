"""What need not be compared because the answer is known: equal parts, pairs met before, union branches told by name.

Each of these gives the answer that comparing would have given; so nothing is taken for known in tangled schemas, where
it matters in which order records are compared, and nothing is remembered of schemas that are not plain (`survey`).
"""

from typing import Final

from topicschema.core.formats.avro.model import Lore, Node, Record, Union
from topicschema.core.formats.avro.survey import is_plain

_FEW: Final = 3
"""So many branches are tried as fast as it is found out that they need not be."""
_MOST_KNOWN: Final = 100


class Shortcuts:
    """The shortcuts in comparing with one reader's schema."""

    __slots__ = ("_by_name", "_is_tangled", "_root")

    def __init__(self, root: Node, lore: Lore) -> None:
        self._root = root
        self._is_tangled = lore.is_tangled
        self._by_name: dict[Union, dict[str, Record]] = {}

    def is_readable(self, writer: Record, reader: Record) -> bool:
        """Whether it is known that all of the writer's record can be read."""
        if self._is_tangled or not writer.digest:
            return writer is reader and not self._is_tangled
        return writer.digest == reader.digest or (reader.reads is not None and writer.digest in reader.reads)

    def remember(self, writer: Record, reader: Record) -> None:
        """Take note that all of the writer's record can be read: in a long history the same two meet often."""
        if writer.digest and is_plain(self._root):
            if reader.reads is None or len(reader.reads) == _MOST_KNOWN:
                reader.reads = set()
            reader.reads.add(writer.digest)

    def are_readable(self, writer: Union, reader: Union) -> bool:
        """Whether it is known of all of the writer's branches, which then are records."""
        if len(writer.branches) <= _FEW:
            return False
        for branch in writer.branches:
            alike = self.branch(branch, reader) if isinstance(branch, Record) else None
            if alike is None or not self.is_readable(branch, alike):  # type: ignore[arg-type]  # a record
                return False
        return True

    def branch(self, writer: Record, reader: Union) -> Record | None:
        """The branch of the writer's full name, where nothing can come of trying those before it, as Avro does."""
        known = self._by_name.get(reader)
        if known is None:
            known = self._by_name[reader] = self._records(reader)
        return known.get(writer.full_name)

    def _records(self, reader: Union) -> dict[str, Record]:
        if len(reader.branches) <= _FEW or not is_plain(self._root):
            return {}
        return {branch.full_name: branch for branch in reader.branches if isinstance(branch, Record)}
