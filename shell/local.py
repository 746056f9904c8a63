"""Whether a server runs at the default address; asked without httpx, which takes long to load."""

from __future__ import annotations

DEFAULT_URL = "http://127.0.0.1:8088"
TIMEOUT_S = 5.0


def is_running(url: str = DEFAULT_URL) -> bool:
    """Whether a ksql-spark server responds at ``url``, even if it is still starting or wants credentials."""
    # imported here: most shells are told a server's address
    import http.client
    from urllib.parse import urlsplit

    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/info")
        answer = connection.getresponse()
        return answer.status != http.client.OK or b"KsqlServerInfo" in answer.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
