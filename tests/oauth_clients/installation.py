"""An installation that serves https itself, and a person in a browser who allows programs access.

Clients compare the addresses in metadata with those that they used, so that its public address is
the one at which it listens.
"""

import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from selenium.webdriver import Chrome

from tests.e2e.browser import running_browser
from tests.e2e.browsing import field, fill_in, heading, press
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import PASSWORD, Person, settle
from tests.e2e.server import PATIENCE
from tests.e2e.threaded_server import serving
from tests.oauth_clients.programs import own_port

DOCUMENTED = "A program with a document"
"""The name of the program with a metadata document."""
NOTE = "# The tide\n\nIt comes twice a day."


@dataclass(frozen=True)
class Installation:
    """A running installation with a note, and a person.

    Attributes:
        url: its public address.
        trust: the file with the authority of its certificate.
        person: owns the workspace with the note.
        workspace_id: the workspace.
        http: a client with the key of the person.
        browser: the browser of the person, without script.
        document: the address of the metadata document of a program.
    """

    url: str
    trust: Path
    person: Person
    workspace_id: str
    http: httpx.Client
    browser: Chrome
    document: str

    @property
    def endpoint(self) -> str:
        return f"{self.url}/mcp"

    def allow(self, address: str, *, write: bool = False) -> str:
        """Open the address that a program gave, and allow it access; return its name there.

        The person signs in first where the installation asks for it.
        """
        page = self.browser
        page.get(address)
        if heading(page) == "Sign in":
            fill_in(page, {"E-mail address": self.person.address, "Password": PASSWORD})
            press(page, "Sign in")
        assert heading(page) == "Allow access to your notes?", page.page_source
        name = page.find_element("css selector", ".subject").text
        if write:
            field(page, "Create, change, move and delete notes").click()
        press(page, "Allow")
        # The page of the program.
        assert page.current_url.startswith("http://127.0.0.1:"), page.page_source
        return name


@contextmanager
def installation() -> Iterator[Installation]:
    """Run an installation with its person."""
    with data_folder() as folder:
        authority = trustme.CA()
        certificate = authority.issue_cert("localhost", "127.0.0.1")
        chain, key = folder.parent / "chain.pem", folder.parent / "key.pem"
        chain.write_bytes(b"".join(each.bytes() for each in certificate.cert_chain_pems))
        key.write_bytes(certificate.private_key_pem.bytes())
        trust = folder.parent / "root.pem"
        authority.cert_pem.write_to_path(str(trust))
        host = f"localhost:{own_port()}"
        url = f"https://{host}"
        options = (
            *("--bind", host.replace("localhost", "127.0.0.1"), "--public-url", url),
            *("--tls-certificate", str(chain), "--tls-key", str(key)),
            *("--mcp", "true", "--mcp-write", "true"),
        )
        program = (str(Path(__file__).with_name("octavo_beside_programs.py")), str(trust))
        with (
            running(folder, *options, program=program) as octavo,
            document_server(chain, key) as documents,
        ):
            person = settle(octavo)
            with (
                httpx.Client(
                    base_url=url,
                    headers=person.by_key,
                    verify=authority_context(authority),
                    trust_env=False,
                    timeout=PATIENCE,
                ) as http,
                running_browser(host, octavo.port, trusted_key=key_digest(chain)) as browser,
            ):
                made = http.post("/api/workspaces", json={"name": "The sea"}).json()["id"]
                note = {"path": "tide.md", "text": NOTE}
                written = http.post(f"/api/workspaces/{made}/files", json=note)
                assert written.status_code == 201, written.text
                yield Installation(url, trust, person, made, http, browser, documents)
            assert octavo.stop() == (0, [])


@contextmanager
def document_server(chain: Path, key: Path) -> Iterator[str]:
    """Serve the metadata document of a program by https; return its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    address = f"https://127.0.0.1:{server.server_port}/program.json"
    document = {
        "client_id": address,
        "client_name": DOCUMENTED,
        "redirect_uris": ["http://127.0.0.1/callback"],
        "token_endpoint_auth_method": "none",
    }
    with serving(server):
        yield address


def authority_context(authority: trustme.CA) -> ssl.SSLContext:
    """Return the TLS context of a client that trusts an authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def key_digest(chain: Path) -> str:
    """Return the digest by which a browser knows the key of the first certificate of a file."""
    found = x509.load_pem_x509_certificate(chain.read_bytes())
    key = found.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(sha256(key).digest()).decode()
