"""One topic's schemas on a real broker, by the admin REST API, without code of the product."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from testbed.pulsar import Pulsar, Response


def record(*fields: str, **more: str) -> str:
    """Return the text of an Avro record `R` with those fields in JSON. `more` are members of the record."""
    members = "".join(f'"{name}": "{value}", ' for name, value in more.items())
    return f'{{"type": "record", "name": "R", {members}"fields": [{", ".join(fields)}]}}'


def optional(name: str) -> str:
    """Return a field that may be added and removed under every strategy."""
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
        return f"/persistent/{self.namespace}/{quote(self.name, safe='')}"

    def upload(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] | None = None) -> Response:
        """Upload the schema and return the broker's response."""
        return self._post("schema", text, kind, properties)

    def upload_version(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] | None = None) -> int:
        """Upload a schema, which the broker must accept, and return its version."""
        response = self.upload(text, kind, properties)
        assert response.status == 200, response
        number: int = response.json["version"]["version"]
        return number

    def compatibility(self, text: str, kind: str = "AVRO") -> Response:
        """Return the broker's response about the schema's compatibility."""
        return self._post("compatibility", text, kind, None)

    def version_of(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] | None = None) -> int:
        """Return the broker's version of the schema, -1 if it has none."""
        number: int = self._post("version", text, kind, properties).json["version"]
        return number

    def read(self, version: int | None = None) -> Response:
        """Request the newest schema, or that version."""
        return self.pulsar.request("GET", f"{self.schemas}/schema" + ("" if version is None else f"/{version}"))

    def versions(self) -> list[int]:
        responses = self.pulsar.call("GET", f"{self.schemas}/schemas")["getSchemaResponses"]
        return [entry["version"] for entry in responses]

    def index(self) -> list[int] | None:
        """Return all versions of the broker, including tombstones; None if it has none."""
        metadata = self.pulsar.call("GET", f"{self.schemas}/metadata")
        return None if metadata is None else [entry["version"] for entry in metadata["index"]]

    def delete(self, *, force: bool = False) -> int:
        """Delete the topic's schemas and return the version in the response."""
        number: int = self.pulsar.call("DELETE", f"{self.schemas}/schema?force={str(force).lower()}")["version"]
        return number

    def _post(self, endpoint: str, text: str, kind: str, properties: Mapping[str, str] | None) -> Response:
        body = {"type": kind, "schema": text, "properties": dict(properties or {})}
        return self.pulsar.request("POST", f"{self.schemas}/{endpoint}", body)
