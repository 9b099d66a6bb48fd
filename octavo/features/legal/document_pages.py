"""The pages of the legal documents."""

from collections.abc import Mapping
from hashlib import sha256

import jinja2

from octavo.features.legal.api import LegalDocumentPage
from octavo.features.legal.rules import DocumentName, LegalDocuments
from octavo.http.pages.frame import for_everybody
from octavo.http.pages.static_files import page_files
from octavo.templates import FOLDER

_HEADINGS: Mapping[DocumentName, str] = {"terms": "Terms", "privacy": "Privacy notice"}


def legal_pages(
    documents: Mapping[DocumentName, str], legal: LegalDocuments, public_url: str
) -> dict[DocumentName, LegalDocumentPage]:
    """Return the pages of ``documents``, which are sanitised HTML.

    ``legal`` are the documents in force, which each page links to; ``public_url`` is the address of
    the installation, without a trailing slash.
    """
    loader = jinja2.FileSystemLoader(FOLDER)
    environment = jinja2.Environment(loader=loader, autoescape=True)
    environment.globals.update(page_files(public_url, legal.links).variables)
    template = environment.get_template("legal.html")
    return {
        name: _page(template.render(for_everybody(), heading=_HEADINGS[name], html=html))
        for name, html in documents.items()
    }


def _page(html: str) -> LegalDocumentPage:
    encoded = html.encode()
    return LegalDocumentPage(encoded, sha256(encoded).hexdigest()[:32])
