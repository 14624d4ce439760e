"""A minimal S3 store: `python -m testbed.object_store HOST PORT FOLDER KEY SECRET`.

Buckets are the folders in FOLDER. It serves HEAD, GET (also of ranges) and ListObjectsV2, a few keys a page, and PUT,
copies, uploads in parts, and DELETE of one or many objects. It responds 403 to requests that KEY and SECRET did not
sign (Signature Version 4). Source: Amazon S3 API reference. Runs with moto's server, which implements all of S3, had
the same results. That is no dependency: botocore needs python-dateutil below 3, and the operator's lock has 4.
"""

import hashlib
import hmac
import re
import sys
import uuid
from datetime import UTC, datetime
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

_PAGE = 2
"""Keys: lists of any size are then read page by page."""
_MARKER, _UPLOADS, _FRESH = ".marker", ".uploads", ".fresh"
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
        place = self._place(url.path)
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

    def do_PUT(self) -> None:
        """Store an object or a part of one, or copy an object."""
        content, url = self._body(), urlsplit(self.path)
        query, place = dict(parse_qsl(url.query, keep_blank_values=True)), self._place(url.path)
        source = self.headers.get("x-amz-copy-source")
        if not self._is_signed(url.path, url.query):
            self._refuse(HTTPStatus.FORBIDDEN, "SignatureDoesNotMatch")
        elif self.headers.get("If-None-Match") == "*" and place.exists():
            self._refuse(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed")
        elif "uploadId" in query:
            _write(self._part(query["uploadId"], int(query["partNumber"])), content)
            self._answer(HTTPStatus.OK, b"", {"ETag": _etag(content)})
        elif source is None:
            _write(place, content)
            self._answer(HTTPStatus.OK, b"", {"ETag": _etag(content)})
        elif not self._place(source).is_file():
            self._refuse(HTTPStatus.NOT_FOUND, "NoSuchKey")
        else:
            content = self._place(source).read_bytes()
            _write(place, content)
            self._answer_xml("CopyObjectResult", f"<ETag>{_etag(content)}</ETag>")

    def do_POST(self) -> None:
        """Delete many objects, or begin or complete an upload in parts."""
        content, url = self._body(), urlsplit(self.path)
        query, place = dict(parse_qsl(url.query, keep_blank_values=True)), self._place(url.path)
        if not self._is_signed(url.path, url.query):
            self._refuse(HTTPStatus.FORBIDDEN, "SignatureDoesNotMatch")
        elif "delete" in query:
            keys = [unescape(each) for each in re.findall("<Key>(.*?)</Key>", content.decode())]
            for key in keys:
                self._place(f"{url.path.rstrip('/')}/{quote(key)}").unlink(missing_ok=True)
            self._answer_xml("DeleteResult", "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys))
        elif "uploads" in query:
            self._answer_xml("InitiateMultipartUploadResult", f"<UploadId>{uuid.uuid4().hex}</UploadId>")
        else:
            parts = sorted(self._part(query["uploadId"], 0).parent.iterdir())
            whole = b"".join(each.read_bytes() for each in parts)
            _write(place, whole)
            self._answer_xml("CompleteMultipartUploadResult", f"<ETag>{_etag(whole)}</ETag>")

    def do_DELETE(self) -> None:
        """Delete an object, or end an upload."""
        url = urlsplit(self.path)
        if not self._is_signed(url.path, url.query):
            self._refuse(HTTPStatus.FORBIDDEN, "SignatureDoesNotMatch")
            return
        if "uploadId" not in dict(parse_qsl(url.query)):
            self._place(url.path).unlink(missing_ok=True)
        self._answer(HTTPStatus.NO_CONTENT, b"", {})

    def _place(self, path: str) -> Path:
        """Return the file of an object. An object whose key ends with a slash marks a folder."""
        key = unquote(path).lstrip("/")
        return self._buckets / (key + _MARKER if key.endswith("/") and key.count("/") > 1 else key.strip("/"))

    def _part(self, upload: str, number: int) -> Path:
        return self._buckets / _UPLOADS / upload / f"{number:05}"

    def _body(self) -> bytes:
        """Return the body, which may be in signed chunks, each after its length (`aws-chunked`)."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while length := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
            return body
        content = b""
        while body:
            head, _, body = body.partition(b"\r\n")
            length = int(head.partition(b";")[0], 16)
            content, body = content + body[:length], body[length + 2 :]
            if not length:
                break
        return content

    def _answer_xml(self, name: str, members: str) -> None:
        text = f'<{name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{members}</{name}>'
        self._answer(HTTPStatus.OK, text.encode(), {"Content-Type": "application/xml"})

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
            "ETag": _etag(content),
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


def _write(place: Path, content: bytes) -> None:
    """Replace the object at once, as a store does."""
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f"{place.name}{uuid.uuid4().hex}{_FRESH}")
    fresh.write_bytes(content)
    fresh.replace(place)


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _list(bucket: Path, query: dict[str, str]) -> str:
    """Return a page of a listing: the keys with a prefix, in order, and the common prefixes up to a delimiter."""
    prefix, after = query.get("prefix", ""), query.get("continuation-token", query.get("start-after", ""))
    files = (str(each.relative_to(bucket)) for each in bucket.rglob("*") if each.suffix != _FRESH and each.is_file())
    keys, delimiter = sorted(each.removesuffix(_MARKER) for each in files), query.get("delimiter", "")
    entries = dict.fromkeys(_entry(key, prefix, delimiter) for key in keys if key.startswith(prefix))
    rest = [each for each in entries if each > after]
    page = rest[: min(_PAGE, int(query.get("max-keys", _PAGE)))]
    more = (
        f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(page) < len(rest) and page else ""
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket.name}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
        f"<MaxKeys>{_PAGE}</MaxKeys><IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}"
        f"{''.join(_listed(bucket, each, is_key=not delimiter or each == prefix) for each in page)}</ListBucketResult>"
    )


def _entry(key: str, prefix: str, delimiter: str) -> str:
    rest = key[len(prefix) :]
    return prefix + rest.partition(delimiter)[0] + delimiter if delimiter and delimiter in rest else key


def _listed(bucket: Path, entry: str, *, is_key: bool) -> str:
    """Return an entry of a listing. Without `is_key`, one with a slash at its end is a common prefix."""
    if entry.endswith("/") and not is_key:
        return f"<CommonPrefixes><Prefix>{escape(entry)}</Prefix></CommonPrefixes>"
    stat = (bucket / (entry + _MARKER if entry.endswith("/") else entry)).stat()
    changed = datetime.fromtimestamp(stat.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    rest = f"<LastModified>{changed}Z</LastModified><StorageClass>STANDARD</StorageClass>"
    return f"<Contents><Key>{escape(entry)}</Key><Size>{stat.st_size}</Size>{rest}</Contents>"


def main() -> None:
    """Serve until killed."""
    host, port, folder, key, secret = sys.argv[1:]
    ThreadingHTTPServer((host, int(port)), partial(ObjectHandler, Path(folder), key, secret)).serve_forever()


if __name__ == "__main__":
    main()
