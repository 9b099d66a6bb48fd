"""A billing portal in sixty lines of code: it learns from Octavo who comes, and sells storage.

    OCTAVO=http://localhost:8080 OPERATOR_TOKEN=octo_… python examples/billing_portal.py 8090

Octavo sends people here with the setting ``portal=billing=http://localhost:8090/start``. A real
portal would take money, keep its sessions in a database, and use TLS. It needs httpx.
"""

import os
import secrets
import sys
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

Json = dict[str, Any]
STORAGE = 10 * 1024**3


class Operator:
    """The operator API of an installation."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._headers = url, {"authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        """Return the response of an operation. Raises `httpx.HTTPStatusError` for a refusal."""
        address = f"{self.url}/api/operator{path}"
        response = httpx.request(method, address, headers=self._headers, json=body, timeout=10)
        return dict(response.raise_for_status().json())

    def set_storage(self, account_id: str, size: int) -> Json:
        """Set the storage of an account, also when its controls change at the same time."""
        while True:
            revision = self.call("GET", f"/accounts/{account_id}")["controls"]["revision"]
            change = {"revision": revision, "storageBytes": size}
            try:
                return self.call("PATCH", f"/accounts/{account_id}/controls", change)
            except httpx.HTTPStatusError as error:
                if error.response.json()["code"] != "controls_changed":
                    raise


def portal(operator: Operator, port: int) -> ThreadingHTTPServer:
    """Return the server of the portal, on ``port`` of this machine."""
    people: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            token = parse_qs(urlsplit(self.path).query).get("token", [""])[0]
            try:
                account = operator.call("POST", "/portal/redeem", {"token": token})
            except httpx.HTTPStatusError:
                return self.show(404, "<p>This link has expired: open it from Octavo again.</p>")
            except httpx.TransportError:
                return self.show(502, "<p>Octavo can't be reached: try again soon.</p>")
            people[session := secrets.token_urlsafe()] = account["id"]
            button = f"<button name=session value={session}>Buy 10 GiB</button>"
            return self.show(200, f"{described(account)}<form method=post>{button}</form>")

        def do_POST(self) -> None:
            length = min(int(self.headers.get("content-length", 0)), 1000)
            session = parse_qs(self.rfile.read(length).decode()).get("session", [""])[0]
            if session not in people:
                return self.show(404, "<p>Open the portal from Octavo again.</p>")
            return self.show(200, described(operator.set_storage(people[session], STORAGE)))

        def show(self, status: int, content: str) -> None:
            self.send_response(status)
            # The address holds a token: it must not reach other sites.
            self.send_header("referrer-policy", "no-referrer")
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>Billing</title>{content}".encode())

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def described(account: Json) -> str:
    """Return an account as HTML."""
    used, allowed = account["usage"]["storageBytes"], account["controls"]["storageBytes"]
    return f"<p>{escape(account['address'])} uses {used} of {allowed or 'unlimited'} bytes.</p>"


if __name__ == "__main__":
    server = portal(Operator(os.environ["OCTAVO"], os.environ["OPERATOR_TOKEN"]), int(sys.argv[1]))
    print(f"The portal is at http://localhost:{server.server_port}/start", flush=True)
    server.serve_forever()
