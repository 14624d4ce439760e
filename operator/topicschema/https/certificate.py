"""The serving certificate of a process, from files that may change while it runs."""

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Final

_LOG = logging.getLogger(__name__)
_FILE_CHECK_INTERVAL: Final = 1.0


class Certificate:
    """The serving certificate, reloaded when its files change. Later handshakes use the new one, without a restart.

    With `client_ca`, handshakes without a client certificate of that authority fail. Unusable files (half written, or a
    key that does not match) leave the old certificate in place.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._loaded = self._signature()
        self._current = self._load()
        self.context = self._load()
        self.context.sni_callback = self._choose
        self._is_usable = True

    async def follow(self) -> None:
        """Check the files for ever."""
        while True:
            await asyncio.sleep(_FILE_CHECK_INTERVAL)
            self.reload()

    def reload(self) -> bool:
        """Load the files if they changed. Return True if a new certificate is used."""
        signature = self._signature()
        if signature == self._loaded and self._is_usable:
            return False
        try:
            self._current = self._load()
        except (OSError, ssl.SSLError) as error:
            if self._is_usable or signature != self._loaded:
                _LOG.warning("the certificate's files cannot be used, the old one stays: %s", type(error).__name__)
            self._is_usable, self._loaded = False, signature
            return False
        self._is_usable, self._loaded = True, signature
        _LOG.info("serving with a changed certificate")
        return True

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.num_tickets = 0  # a resumed session would continue with the old certificate
        context.load_cert_chain(self._certificate, self._key)
        if self._client_ca:
            context.load_verify_locations(self._client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _signature(self) -> tuple[tuple[int, int, int], ...]:
        try:
            stats = [path.stat() for path in (self._certificate, self._key, self._client_ca) if path]
        except OSError:
            return ()
        return tuple((s.st_ino, s.st_mtime_ns, s.st_size) for s in stats)
