"""One topic's schemas on a real broker, by the bare admin REST: no code of the product has a part in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from testbed.pulsar import Answer, Pulsar


def record(*fields: str, **more: str) -> str:
    """The text of an Avro record `R` with those fields, each already JSON; `more` are members of the record itself."""
    members = "".join(f'"{name}": "{value}", ' for name, value in more.items())
    return f'{{"type": "record", "name": "R", {members}"fields": [{", ".join(fields)}]}}'


def optional(name: str) -> str:
    """A field that may come and go under every strategy."""
    return f'{{"name": "{name}", "type": "int", "default": 1}}'


@dataclass(frozen=True, slots=True)
class RestTopic:
    """A topic by its namespace and its local name, unencoded; it need not exist."""

    pulsar: Pulsar
    namespace: str
    name: str = "x"

    @property
    def schemas(self) -> str:
        """The path of its schemas; the name is encoded twice, as the broker decodes it twice."""
        return f"/schemas/{self.namespace}/{quote(quote(self.name, safe=''), safe='')}"

    @property
    def itself(self) -> str:
        """The path of the topic."""
        return f"/persistent/{self.namespace}/{quote(self.name, safe='')}"

    def upload(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] | None = None) -> Answer:
        """What the broker answers to this schema."""
        return self._post("schema", text, kind, properties)

    def uploaded(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] | None = None) -> int:
        """The version that the broker gives it, which must take it."""
        answer = self.upload(text, kind, properties)
        assert answer.status == 200, answer
        number: int = answer.json["version"]["version"]
        return number

    def compatibility(self, text: str, kind: str = "AVRO") -> Answer:
        """What the broker says of its compatibility."""
        return self._post("compatibility", text, kind, None)

    def version_of(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] | None = None) -> int:
        """The version under which the broker knows it, -1 if it does not."""
        number: int = self._post("version", text, kind, properties).json["version"]
        return number

    def read(self, version: int | None = None) -> Answer:
        """The newest schema, or that version."""
        return self.pulsar.ask("GET", f"{self.schemas}/schema" + ("" if version is None else f"/{version}"))

    def versions(self) -> list[int]:
        """The versions that the broker shows."""
        found = self.pulsar.tell("GET", f"{self.schemas}/schemas")["getSchemaResponses"]
        return [entry["version"] for entry in found]

    def index(self) -> list[int] | None:
        """All versions that the broker has, tombstones too; None where it has none."""
        metadata = self.pulsar.tell("GET", f"{self.schemas}/metadata")
        return None if metadata is None else [entry["version"] for entry in metadata["index"]]

    def delete(self, *, force: bool = False) -> int:
        """Delete its schemas; the number that the broker answers."""
        number: int = self.pulsar.tell("DELETE", f"{self.schemas}/schema?force={str(force).lower()}")["version"]
        return number

    def _post(self, what: str, text: str, kind: str, properties: Mapping[str, str] | None) -> Answer:
        body = {"type": kind, "schema": text, "properties": dict(properties or {})}
        return self.pulsar.ask("POST", f"{self.schemas}/{what}", body)
