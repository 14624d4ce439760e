"""The metadata service of a cloud, which serves its virtual machines and their pods temporary keys.

`python -m testbed.instance_metadata HOST PORT KEY SECRET` responds as version 2 of Amazon's metadata service does.
Clouds serve it at ADDRESS and port 80. Source: Amazon EC2 user guide.
"""

import json
import secrets
import sys
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

ADDRESS: Final = "169.254.169.254"
_TOKEN: Final = secrets.token_hex(16)
"""The token that a client fetches first and sends with each further request."""
_ROLE: Final = "reader"
_PLACE: Final = "/latest/meta-data/iam/security-credentials"


class MetadataHandler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"

    def __init__(self, key: str, secret: str, *connection: Any) -> None:
        self._keys = {"AccessKeyId": key, "SecretAccessKey": secret}
        super().__init__(*connection)

    def do_PUT(self) -> None:
        is_token_request = self.path == "/latest/api/token" and "x-aws-ec2-metadata-token-ttl-seconds" in self.headers
        self._answer(_TOKEN if is_token_request else "")

    def do_GET(self) -> None:
        keys = {"Code": "Success", "Type": "AWS-HMAC", "Token": "of-a-session", "Expiration": "2099-01-01T00:00:00Z"}
        texts = {_PLACE: _ROLE, f"{_PLACE}/{_ROLE}": json.dumps(keys | self._keys)}
        is_known = self.headers.get("x-aws-ec2-metadata-token") == _TOKEN
        self._answer(texts.get(self.path.rstrip("/"), "") if is_known else "")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's name
        """Do nothing: requests are not logged."""

    def _answer(self, text: str) -> None:
        self.send_response(HTTPStatus.OK if text else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def main() -> None:
    """Serve until killed."""
    host, port, key, secret = sys.argv[1:]
    ThreadingHTTPServer((host, int(port)), partial(MetadataHandler, key, secret)).serve_forever()


if __name__ == "__main__":
    main()
