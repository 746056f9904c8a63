"""The console's files, built from ``console/``: each is read when a browser first asks for it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

#: a link to console/dist in a checkout
FOLDER = Path(__file__).parents[1] / "console"
PAGE = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_SECURITY = {
    "Content-Security-Policy": (
        # the marks of the editor are images in its styles
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
#: names of files but the page's have a hash of their content
_UNCHANGING, _CHANGING = "public, max-age=31536000, immutable", "no-cache"


class _File(NamedTuple):
    written_ns: int
    plain: bytes
    zipped: bytes
    media_type: str


class Console:
    """The files of the console.

    Args:
        folder: has them.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}

    def response(self, name: str, scope: Scope) -> Response | None:
        """The file called ``name`` as an answer to a request, or None."""
        file = self._file(name)
        if file is None:
            return None
        is_zipped = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        headers = {
            **_SECURITY,
            "Cache-Control": _CHANGING if name == PAGE else _UNCHANGING,
            "Vary": "Accept, Accept-Encoding" if name == PAGE else "Accept-Encoding",
            **({"Content-Encoding": "gzip"} if is_zipped else {}),
        }
        return Response(file.zipped if is_zipped else file.plain, headers=headers, media_type=file.media_type)

    def _file(self, name: str) -> _File | None:
        try:
            # a client's text is compared with names and never part of a path, whatever it has
            path = next((path for path in self._folder.iterdir() if path.name == name), None)
            media_type = _TYPES.get(path.suffix) if path is not None else None
            if path is None or media_type is None:
                return None
            written_ns = path.stat().st_mtime_ns
            file = self._files.get(name)
            if file is None or file.written_ns != written_ns:
                plain = path.read_bytes()
                file = _File(written_ns, plain, gzip.compress(plain, mtime=0), media_type)
                self._files[name] = file
            return file
        except OSError:
            return None
