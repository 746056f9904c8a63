"""In the stand-in of the schema registry's image: Apicurio, with Confluent's paths."""

import http.server
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

BEHIND = "http://127.0.0.1:8080/apis/ccompat/v7"


class Handler(http.server.BaseHTTPRequestHandler):
    """Passes each request on."""

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length) if length else None
        kept = {name: self.headers[name] for name in ("Content-Type", "Accept") if self.headers[name]}
        request = urllib.request.Request(BEHIND + self.path, data, kept, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        except OSError:
            status, body = 503, b"{}"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _pass_on


java = subprocess.Popen(
    [
        *(
            "/opt/java/openjdk/bin/java",
            "-Xmx256m",
            "-Dquarkus.http.port=8080",
            "-Dquarkus.http.host=127.0.0.1",
        ),
        *("-Dapicurio.datasource.url=jdbc:h2:file:/tmp/registry", "-jar", "/opt/registry/quarkus-run.jar"),
    ]
)
signal.signal(signal.SIGTERM, lambda *_: (java.terminate(), os._exit(0)))
http.server.ThreadingHTTPServer(("0.0.0.0", 8081), Handler).serve_forever()
sys.exit(java.wait())
