"""A small client for the instance's own API server: JSON over one kept connection per thread."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

MANAGER = "local-cluster"
_IRREGULAR = {"Endpoints": "endpoints"}


class ApiError(RuntimeError):
    """The API server answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status


def resource(kind: str) -> str:
    """Return the plural that a kind has in a URL."""
    if kind in _IRREGULAR:
        return _IRREGULAR[kind]
    lower = kind.lower()
    if lower.endswith("y"):
        return lower.removesuffix("y") + "ies"
    return lower + ("es" if lower.endswith("s") else "s")


def path_of(manifest: Manifest) -> str:
    """Return the URL path of one object."""
    version, meta = manifest["apiVersion"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = f"/namespaces/{meta['namespace']}" if meta.get("namespace") else ""
    return f"{root}{space}/{resource(manifest['kind'])}/{meta['name']}"


class Api:
    """Requests to one API server with a client certificate."""

    def __init__(self, port: int, pki: Path, user: str = "admin", timeout: float = 60.0) -> None:
        self.port, self.timeout = port, timeout
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(str(pki / f"{user}.crt"), str(pki / f"{user}.key"))
        self._local = threading.local()
        self._open: list[http.client.HTTPSConnection] = []

    def __del__(self) -> None:
        """Close the connections of all threads that used this client."""
        for connection in getattr(self, "_open", ()):
            connection.close()

    def _connection(self) -> http.client.HTTPSConnection:
        found: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if found is None:
            found = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=self.timeout, context=self._tls
            )
            self._local.connection = found
            self._open.append(found)
        return found

    def close(self) -> None:
        """Close this thread's connection."""
        found: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if found is not None:
            found.close()
            self._open.remove(found)
        self._local.connection = None

    def raw(
        self, method: str, path: str, body: object = None, content: str = "application/json"
    ) -> tuple[int, bytes]:
        """Send one request and return the status with the body as it came."""
        kept = getattr(self._local, "connection", None) is not None
        try:
            return self._send(method, path, body, content)
        except (ConnectionError, ssl.SSLEOFError, http.client.BadStatusLine):
            if not kept:
                raise
            # The kept connection has ended with an earlier API server; a new one may serve.
            return self._send(method, path, body, content)

    def _send(self, method: str, path: str, body: object, content: str) -> tuple[int, bytes]:
        sent = None if body is None else json.dumps(body).encode()
        connection = self._connection()
        try:
            connection.request(method, path, body=sent, headers={"Content-Type": content})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def request(
        self, method: str, path: str, body: object = None, content: str = "application/json"
    ) -> Manifest:
        """Send one request and return the object of the answer; ApiError for an error status."""
        status, text = self.raw(method, path, body, content)
        try:
            answer = json.loads(text) if text else {}
        except ValueError:
            answer = {"message": text.decode(errors="replace")[:500]}
        if status >= 400:
            raise ApiError(status, str(answer.get("message", "")))
        return dict(answer)

    def get(self, path: str) -> Manifest:
        """Read one object or list."""
        return self.request("GET", path)

    def find(self, path: str) -> Manifest | None:
        """Read one object, None where there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def patch(self, path: str, body: object) -> Manifest:
        """Change parts of an object by a merge patch."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def apply(self, manifest: Manifest, patience: float = 120.0) -> Manifest:
        """Write one object by server-side apply; what is not ready yet is tried again."""
        query = f"?fieldManager={MANAGER}&force=true"
        path, until = path_of(manifest) + query, time.monotonic() + patience
        while True:
            try:
                return self.request("PATCH", path, manifest, "application/apply-patch+yaml")
            except (OSError, http.client.HTTPException, ApiError) as error:
                passing = not isinstance(error, ApiError) or error.status in (404, 409, 429, 500)
                passing = passing or getattr(error, "status", 0) > 500
                if not passing or time.monotonic() > until:
                    meta = manifest["metadata"]
                    text = f"{manifest['kind']} {meta['name']} cannot be applied"
                    msg = f"{text}: {error}"
                    raise RuntimeError(msg) from error
            time.sleep(0.2)
