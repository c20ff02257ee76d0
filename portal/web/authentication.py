"""Who calls the API. Another way in (a token) is one more class here and in the settings."""

from __future__ import annotations

from rest_framework import authentication
from rest_framework.request import Request


class SessionAuthentication(authentication.SessionAuthentication):
    """The session of the browser. It names itself, so that an anonymous call gets a 401."""

    def authenticate_header(self, request: Request) -> str:
        """Give the challenge; no browser opens a window of its own for it."""
        return 'Session realm="gpu-quota-portal"'
