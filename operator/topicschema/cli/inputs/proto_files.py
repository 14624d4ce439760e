"""`.proto` files, collected with their imports and compiled to the schema that a client would send."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from topicschema import protoc
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import Refusal
from topicschema.cli.inputs import files
from topicschema.cli.inputs.files import UsageError
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.core.schemas import PulsarVersion
from topicschema.protoc import ProtobufSources

_STRING: Final = r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
_IMPORT: Final = re.compile(
    rf"//[^\n]*|/\*.*?\*/|\bimport\s+(?:(?:public|weak|option)\s+)?(?P<imported>{_STRING})\s*;|{_STRING}", re.DOTALL
)
"""Pattern of an import, or of a comment or text that resembles one."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Result for a root file: its message, all files by the names that imports use, and the envelope."""

    message: str
    files: Mapping[str, str]
    envelope: bytes


@dataclass(frozen=True, slots=True)
class Search:
    """Search for root files and their imports.

    The root message is `message`, or else the only one at the top level of the root file. Imports are searched among
    the `listed` files, then in the root file's own folder, then in `folders` (-I). The own folder is the innermost of
    `folders` that holds the file, or else the file's folder. Names are relative to it. The envelope is that of the Java
    client of `pulsar_version`.
    """

    message: str | None
    folders: Sequence[str]
    listed: Sequence[str] = ()
    pulsar_version: PulsarVersion = PulsarVersion.V4_0

    def compiled(self, name: str, text: bytes) -> Compiled:
        """Return the file compiled with all its imports. Raises UsageError, with the place, if that fails."""
        self._demand_folders()
        own = self._own_folder(Path(name))
        root = _absolute(Path(name)).relative_to(own).as_posix()
        sources = self._with_imports(root, text, own)
        try:
            if self.message is None:
                message, envelope = protoc.compile_first(sources, pulsar_version=self.pulsar_version)
            else:
                message = self.message.removeprefix(".")
                proto_sources = ProtobufSources(message, sources)
                envelope = protoc.compile_envelope(proto_sources, pulsar_version=self.pulsar_version)
        except InvalidSchemaError as error:
            culprit = protoc.file_of(error.place.path, sources) or root
            shown = name if culprit == root else culprit
            excerpted = "" if error.place.line is None else sources[culprit]
            raise UsageError(check_text.not_compiled(excerpted, _with_option(error, shown), shown)) from None
        except WaitingError as error:
            raise UsageError(error.message) from None
        return Compiled(message, sources, envelope)

    def demand_used(self, names: Iterable[str]) -> None:
        """Raise UsageError if one of the listed files is none of the files `names`, by the names that imports use."""
        unused = next((each for each in self.listed if not any(_ends(each, file) for file in names)), None)
        if unused is not None:
            raise UsageError(f"{unused} is not imported by any file; remove it")

    def _demand_folders(self) -> None:
        absent = next((each for each in self.folders if not each or not Path(each).is_dir()), None)
        if absent is not None:  # a misspelled one would change the root file's name, and so the envelope
            raise UsageError(f"-I {absent or repr(absent)}: there is no such folder")

    def _own_folder(self, file: Path) -> Path:
        holding = [each for each in map(_resolved, self.folders) if _absolute(file).is_relative_to(each)]
        return max(holding, key=lambda each: len(each.parts), default=_absolute(file).parent)

    def _with_imports(self, root: str, text: bytes, own: Path) -> dict[str, str]:
        """Return the root file, first, and those imports that exist. protoc reports missing ones."""
        sources = {root: text.decode(errors="surrogateescape")}
        waiting = list(_imports(sources[root]))
        while waiting and len(sources) <= protoc.MAX_FILES:
            name = waiting.pop()
            path = self._path(name, own) if protoc.is_name(name) and name not in sources else None
            if path is not None:
                sources[name] = files.read(str(path)).decode(errors="surrogateescape")
                waiting += _imports(sources[name])
        return sources

    def _path(self, name: str, own: Path) -> Path | None:
        listed = next((Path(each) for each in self.listed if _ends(each, name)), None)
        candidates = (each / name for each in (own, *map(Path, self.folders)))
        return listed or next((each for each in candidates if each.is_file()), None)


def _with_option(error: InvalidSchemaError, shown: str) -> Refusal:
    """Return the refusal with the option that helps. Places within a resource mean nothing on a command line."""
    refusal = Refusal.of(error)
    if error.place.line is None:
        refusal = replace(refusal, path=shown, place=None)
    option = _OPTIONS.get(error.rule) or _OPTIONS.get(error.place.path)
    return replace(refusal, message=f"{refusal.message}; {option}") if option else refusal


_OPTIONS: Final = {
    "MISSING_FILE": "-I names the folder that imports are relative to, --import a file in any place",
    "$.message": "--message names it",
}
"""Options that help, by the rule or the place."""


def _imports(text: str) -> Iterator[str]:
    return (match["imported"][1:-1] for match in _IMPORT.finditer(text) if match["imported"])


def _ends(path: str, name: str) -> bool:
    """Return True if an import of that name can mean a file at that path."""
    parts = Path(name).parts
    return _absolute(Path(path)).parts[-len(parts) :] == parts


def _absolute(file: Path) -> Path:
    return _resolved(file.parent) / file.name


def _resolved(folder: str | Path) -> Path:
    return Path(folder).resolve()
