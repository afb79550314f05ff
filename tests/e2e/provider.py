"""Small OpenID Connect provider for tests: a page of names to click on, and signed tokens."""

from __future__ import annotations

import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "second-moment", "for this test alone, by itself"


class Provider:
    """Provider that signs in the names in ``people``, with their claims."""

    def __init__(self, people: dict[str, dict[str, Any]]) -> None:
        self.people = people
        self.codes: dict[str, tuple[str, str]] = {}  # code: name, nonce
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.post(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def get(self, request: BaseHTTPRequestHandler) -> None:
        """Respond with metadata, keys, the page of names, or a redirect with a code."""
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/.well-known/openid-configuration":
            self._json(
                request,
                {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    "response_types_supported": ["code"],
                    "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["RS256"],
                },
            )
        elif url.path == "/keys":
            self._json(request, {"keys": [self.key.as_dict(private=False)]})
        elif url.path == "/authorize" and "name" not in query:
            links = "".join(f'<p><a href="/authorize?{urlencode({**query, "name": n})}">{n}</a>' for n in self.people)
            self._send(request, 200, f"<h1>Who are you?</h1>{links}".encode(), {"Content-Type": "text/html"})
        elif url.path == "/authorize":
            code = secrets.token_urlsafe()
            self.codes[code] = (query["name"], query.get("nonce", ""))
            back = f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
            self._send(request, 302, b"", {"Location": back})
        else:
            self._send(request, 404, b"", {})

    def post(self, request: BaseHTTPRequestHandler) -> None:
        """Respond with the token of a code, once."""
        length = int(request.headers.get("Content-Length", 0))
        form = {name: values[0] for name, values in parse_qs(request.rfile.read(length).decode()).items()}
        if form.get("code") not in self.codes:
            self._send(request, 400, b"", {})
            return
        name, nonce = self.codes.pop(form["code"])
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": name, "email": name, "iat": now, "exp": now + 600}
        claims["email_verified"] = True
        token = jwt.encode({"alg": "RS256", "kid": "one"}, {**claims, "nonce": nonce, **self.people[name]}, self.key)
        answer = {"access_token": "none", "token_type": "Bearer", "expires_in": 600, "id_token": token}
        self._json(request, answer)

    def _json(self, request: BaseHTTPRequestHandler, fields: dict[str, Any]) -> None:
        self._send(request, 200, json.dumps(fields).encode(), {"Content-Type": "application/json"})

    def _send(self, request: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)
