"""`.proto` files: found with what they import, and compiled to what a client would send."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from topicschema import protoc
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import Refusal
from topicschema.cli.inputs import files
from topicschema.cli.inputs.files import UsageError
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.protoc import ProtobufSources

_STRING: Final = r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
_IMPORT: Final = re.compile(
    rf"//[^\n]*|/\*.*?\*/|\bimport\s+(?:(?:public|weak|option)\s+)?(?P<imported>{_STRING})\s*;|{_STRING}", re.DOTALL
)
"""An import, or a comment or text in which one is none."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of a root file: its message, all files by the names that imports use, and the envelope."""

    message: str
    files: Mapping[str, str]
    envelope: bytes


@dataclass(frozen=True, slots=True)
class Search:
    """What is wanted of root files, and where their imports are.

    The root message is `message`, or else the only one at the top of the root file. Imports are looked for among the
    `listed` files, then in the root file's own folder, then in `folders` (-I). The own folder is the innermost of these
    that holds the file, and else the one it is in; names are relative to it.
    """

    message: str | None
    folders: Sequence[str]
    listed: Sequence[str] = ()

    def compiled(self, name: str, text: bytes) -> Compiled:
        """The file with all that it imports, compiled; UsageError, with the place, where that fails."""
        self._demand_folders()
        own = self._own_folder(Path(name))
        root = _absolute(Path(name)).relative_to(own).as_posix()
        found = self._with_imports(root, text, own)
        try:
            if self.message is None:
                message, envelope = protoc.compile_first(found)
            else:
                message = self.message.removeprefix(".")
                envelope = protoc.compile_envelope(ProtobufSources(message, found))
        except InvalidSchemaError as error:
            culprit = protoc.file_of(error.place.path, found) or root
            shown = name if culprit == root else culprit
            excerpted = "" if error.place.line is None else found[culprit]
            raise UsageError(check_text.not_compiled(excerpted, Refusal.of(error), shown)) from None
        except WaitingError as error:
            raise UsageError(error.message) from None
        return Compiled(message, found, envelope)

    def demand_used(self, found: Iterable[str]) -> None:
        """UsageError where none of the files `found`, by the names that imports use, is one of the listed."""
        unused = next((each for each in self.listed if not any(_ends(each, file) for file in found)), None)
        if unused is not None:
            raise UsageError(f"{unused} is not imported by any file; remove it")

    def _demand_folders(self) -> None:
        absent = next((each for each in self.folders if not each or not Path(each).is_dir()), None)
        if absent is not None:  # a misspelt one would give the root file another name, and so another envelope
            raise UsageError(f"-I {absent or repr(absent)}: there is no such folder")

    def _own_folder(self, file: Path) -> Path:
        holding = [each for each in map(_resolved, self.folders) if _absolute(file).is_relative_to(each)]
        return max(holding, key=lambda each: len(each.parts), default=_absolute(file).parent)

    def _with_imports(self, root: str, text: bytes, own: Path) -> dict[str, str]:
        """The root file, first, and what it imports, as far as it is found: what is missing is protoc's to tell."""
        found = {root: text.decode(errors="surrogateescape")}
        waiting = list(_imports(found[root]))
        while waiting and len(found) <= protoc.MAX_FILES:
            name = waiting.pop()
            path = self._path(name, own) if protoc.is_name(name) and name not in found else None
            if path is not None:
                found[name] = files.read(str(path)).decode(errors="surrogateescape")
                waiting += _imports(found[name])
        return found

    def _path(self, name: str, own: Path) -> Path | None:
        listed = next((Path(each) for each in self.listed if _ends(each, name)), None)
        found = (each / name for each in (own, *map(Path, self.folders)))
        return listed or next((each for each in found if each.is_file()), None)


def _imports(text: str) -> Iterator[str]:
    return (match["imported"][1:-1] for match in _IMPORT.finditer(text) if match["imported"])


def _ends(path: str, name: str) -> bool:
    """Whether a file at that path can be meant by an import of that name."""
    parts = Path(name).parts
    return _absolute(Path(path)).parts[-len(parts) :] == parts


def _absolute(file: Path) -> Path:
    return _resolved(file.parent) / file.name


def _resolved(folder: str | Path) -> Path:
    return Path(folder).resolve()
