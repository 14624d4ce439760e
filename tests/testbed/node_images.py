"""The image that holds a pod's namespaces, made without a builder: an OCI archive with one file in one layer."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

PAUSE = "topicschema.io/testbed/pause:1"
_KIND = "application/vnd.oci.image"


def pause(program: Path, folder: Path) -> Path:
    """The archive of the image whose only file is the program."""
    archive = folder / "pause.tar"
    layer = _tar({"pause": program.read_bytes()})
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    blobs = [layer, _json(config)]
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_KIND}.manifest.v1+json",
            "config": _described(f"{_KIND}.config.v1+json", blobs[1]),
            "layers": [_described(f"{_KIND}.layer.v1.tar", layer)],
        }
    )
    named = _described(f"{_KIND}.manifest.v1+json", manifest)
    named["annotations"] = {"io.containerd.image.name": PAUSE, "org.opencontainers.image.ref.name": "1"}
    files = {f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}": blob for blob in (*blobs, manifest)}
    files["oci-layout"] = _json({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = _json({"schemaVersion": 2, "manifests": [named]})
    archive.write_bytes(_tar(files))
    return archive


def _tar(files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def _described(kind: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()
