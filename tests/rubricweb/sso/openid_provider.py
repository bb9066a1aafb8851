"""A small OpenID provider over HTTP: discovery, authorization, tokens with PKCE, keys and user info."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ANA = {"sub": "ana-1", "email": "ana@uni.example", "email_verified": True, "preferred_username": "ana"}


class OpenIdProvider:
    """It signs in whoever is its `person`; tests make it lie by `claims`, `key` and `algorithm`."""

    def __init__(self, port: int, client_id: str, client_secret: str) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.client_id, self.client_secret = client_id, client_secret
        self.begin()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(address.query).items()}
                if address.path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", provider.authorize(query))
                    self.end_headers()
                    return
                self.answer(provider.document(address.path))

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(provider.tokens({name: values[0] for name, values in parse_qs(text).items()}))

            def answer(self, document: dict[str, Any] | None) -> None:
                body = json.dumps(document or {"error": "invalid_request"}).encode()
                self.send_response(200 if document else 400)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Quietly."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def begin(self) -> None:
        """Forget what an earlier test made of it."""
        self.person: dict[str, Any] = dict(ANA)
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.user_info: dict[str, Any] | None = None
        self.key: Any = KEY
        self.algorithm = "RS256"
        self.requests: dict[str, dict[str, str]] = {}

    def document(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
            } | self.metadata
        if path == "/keys":
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            return {"keys": [key | {"kid": "1", "alg": "RS256", "use": "sig"}]}
        return self.user_info if path == "/userinfo" else None

    def authorize(self, query: dict[str, str]) -> str:
        """Return where the browser goes: back, with a code."""
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["client_id"] == self.client_id
        code = secrets.token_urlsafe()
        self.requests[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def tokens(self, posted: dict[str, str]) -> dict[str, Any] | None:
        """Return the tokens for a code: once, for its verifier, to the client that has the secret."""
        request = self.requests.pop(posted["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(posted["code_verifier"].encode()).digest())
        is_theirs = posted["client_secret"] == self.client_secret
        if request is None or request["code_challenge"] != challenge.decode().rstrip("=") or not is_theirs:
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.client_id, "iat": now, "exp": now + 300}
        claims |= {"nonce": request["nonce"]} | self.person | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode(claims, self.key, algorithm=self.algorithm, headers={"kid": "1"})
        return {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "id_token": token}
