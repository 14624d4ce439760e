"""A minimal S3 store for reading: `python -m testbed.object_store HOST PORT FOLDER KEY SECRET`.

Buckets are the folders in FOLDER. It serves HEAD, GET (also of ranges) and ListObjectsV2, a few keys a page. It
responds 403 to requests that KEY and SECRET did not sign (Signature Version 4). It is read-only. Source: Amazon S3 API
reference. Runs with moto's server, which implements all of S3, had the same results. That is no dependency: botocore
needs python-dateutil below 3, and the operator's lock has 4.
"""

import hashlib
import hmac
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

_PAGE = 2
"""Keys: lists of any size are then read page by page."""
_SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\S+), ?SignedHeaders=(\S+), ?Signature=(\S+)")
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class ObjectHandler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"

    def __init__(self, buckets: Path, key: str, secret: str, *connection: Any) -> None:
        self._buckets, self._key, self._secret = buckets, key, secret
        super().__init__(*connection)

    def do_HEAD(self) -> None:
        """Respond for a bucket, or with an object's size."""
        self.do_GET()

    def do_GET(self) -> None:
        """Respond with an object or a listing."""
        url = urlsplit(self.path)
        place = self._buckets / unquote(url.path).strip("/")
        if not self._is_signed(url.path, url.query):
            self._refuse(HTTPStatus.FORBIDDEN, "SignatureDoesNotMatch")
        elif place.parent == self._buckets and place.is_dir():
            text = _list(place, dict(parse_qsl(url.query, keep_blank_values=True)))
            self._answer(HTTPStatus.OK, text.encode(), {"Content-Type": "application/xml"})
        elif place.is_file():
            self._send(place.read_bytes(), place.stat().st_mtime)
        else:
            has_bucket = (self._buckets / url.path.split("/")[1]).is_dir()
            self._refuse(HTTPStatus.NOT_FOUND, "NoSuchKey" if has_bucket else "NoSuchBucket")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's name
        """Do nothing: requests are not logged."""

    def _is_signed(self, path: str, query: str) -> bool:
        match = _SIGNED.fullmatch(self.headers.get("Authorization", ""))
        if match is None or match[1] != self._key:
            return False
        _, scope, names, signature = match.groups()
        headers = "".join(f"{name}:{' '.join(self.headers.get(name, '').split())}\n" for name in names.split(";"))
        parts = "&".join(sorted(each if "=" in each else f"{each}=" for each in query.split("&") if each))
        body = self.headers.get("x-amz-content-sha256", "")
        request = f"{self.command}\n{path}\n{parts}\n{headers}\n{names}\n{body}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        string_to_sign = "\n".join(("AWS4-HMAC-SHA256", self.headers.get("x-amz-date", ""), scope, digest))
        signing = f"AWS4{self._secret}".encode()
        for part in (*scope.split("/"), string_to_sign):
            signing = hmac.digest(signing, part.encode(), "sha256")
        return hmac.compare_digest(signing.hex(), signature)

    def _send(self, content: bytes, changed: float) -> None:
        headers = {
            "Content-Type": "binary/octet-stream",
            "Last-Modified": formatdate(changed, usegmt=True),
            "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            "Accept-Ranges": "bytes",
        }
        byte_range = _RANGE.fullmatch(self.headers.get("Range", ""))
        if byte_range is None:
            self._answer(HTTPStatus.OK, content, headers)
            return
        first, last = int(byte_range[1]), min(int(byte_range[2] or len(content)), len(content) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self._answer(HTTPStatus.PARTIAL_CONTENT, content[first : last + 1], headers)

    def _refuse(self, status: HTTPStatus, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>no</Message></Error>"
        self._answer(status, text.encode(), {"Content-Type": "application/xml"})

    def _answer(self, status: HTTPStatus, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _list(bucket: Path, query: dict[str, str]) -> str:
    """Return a page of a listing: the keys with a prefix, in order, and the common prefixes up to a delimiter."""
    prefix, after = query.get("prefix", ""), query.get("continuation-token", query.get("start-after", ""))
    keys = sorted(str(each.relative_to(bucket)) for each in bucket.rglob("*") if each.is_file())
    entries = dict.fromkeys(_entry(key, prefix, query.get("delimiter", "")) for key in keys if key.startswith(prefix))
    rest = [each for each in entries if each > after]
    page = rest[: min(_PAGE, int(query.get("max-keys", _PAGE)))]
    more = (
        f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(page) < len(rest) and page else ""
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket.name}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
        f"<MaxKeys>{_PAGE}</MaxKeys><IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}"
        f"{''.join(_entries(bucket, page))}</ListBucketResult>"
    )


def _entry(key: str, prefix: str, delimiter: str) -> str:
    rest = key[len(prefix) :]
    return prefix + rest.partition(delimiter)[0] + delimiter if delimiter and delimiter in rest else key


def _entries(bucket: Path, page: list[str]) -> Iterator[str]:
    for each in page:
        if each.endswith("/"):
            yield f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
        else:
            stat = (bucket / each).stat()
            changed = datetime.fromtimestamp(stat.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
            rest = f"<LastModified>{changed}Z</LastModified><StorageClass>STANDARD</StorageClass>"
            yield f"<Contents><Key>{escape(each)}</Key><Size>{stat.st_size}</Size>{rest}</Contents>"


def main() -> None:
    """Serve until killed."""
    host, port, folder, key, secret = sys.argv[1:]
    ThreadingHTTPServer((host, int(port)), partial(ObjectHandler, Path(folder), key, secret)).serve_forever()


if __name__ == "__main__":
    main()
