"""The anchor of the review benchmark: an aiohttp server over TLS that reads a body and sends a fixed response."""

import ssl
import sys

from aiohttp import web

_ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"bench","allowed":true}}'


async def answer(request: web.Request) -> web.Response:
    """Read the body and return the fixed response."""
    await request.read()
    return web.Response(body=_ANSWER, content_type="application/json")


def main() -> None:
    """Serve: port, certificate and key are the arguments."""
    port, certificate, key = sys.argv[1:]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    app = web.Application(client_max_size=16 * 1024 * 1024)
    app.router.add_post("/review", answer)
    web.run_app(app, host="127.0.0.1", port=int(port), ssl_context=context, access_log=None, print=None)


if __name__ == "__main__":
    main()
