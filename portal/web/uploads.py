"""Uploads: bounded while they come in, and put on disk instead of into memory."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler, StopUpload

TOO_LARGE: Final = "gpuportal.upload_too_large"
#: What is longer than this many times the limit is not read to its end just to be polite.
_FAR_BEYOND: Final = 4


class Bounded(FileUploadHandler):
    """Ends an upload that is longer than the portal takes; its form then has no file.

    It comes before the handlers that keep what comes, and marks the request with ``TOO_LARGE``.
    """

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, boundary: Any,  # noqa: N803
        encoding: Any = None,
    ) -> None:  # fmt: skip
        """Remember how much there is and where to note it."""
        self._meta, self._length, self._got = META, content_length, 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Count, and hand on."""
        self._got += len(raw_data)
        if self._got > settings.UPLOAD_LARGEST:
            self._meta[TOO_LARGE] = True
            far = self._length > _FAR_BEYOND * settings.UPLOAD_LARGEST
            raise StopUpload(connection_reset=far)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
