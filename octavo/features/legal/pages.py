"""The pages of the legal documents, and the one on which a person accepts them."""

from collections.abc import Mapping
from hashlib import sha256

import jinja2
from octavo_rules.problems import ConsentRequired, Problem
from quart import Response

from octavo.features.legal.api import LegalTextPage
from octavo.features.legal.rules import DocumentName, LegalTexts
from octavo.http.account_schemas import ConsentRecorded, RequiredDocuments
from octavo.http.pages.frame import for_everybody
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import CONSENT, FormErrors, form_errors_of, inside, redirect, show
from octavo.http.pages.static_files import page_files
from octavo.templates import loader_of

_HEADINGS: Mapping[DocumentName, str] = {"terms": "Terms", "privacy": "Privacy notice"}


def legal_pages(
    documents: Mapping[DocumentName, str], legal: LegalTexts, public_url: str
) -> dict[DocumentName, LegalTextPage]:
    """Return the pages of ``documents``, which are sanitised HTML.

    ``legal`` are the documents in force, which each page links to; ``public_url`` is the address of
    the installation, without a trailing slash.
    """
    environment = jinja2.Environment(loader=loader_of(["legal"]), autoescape=True)
    environment.globals.update(page_files(public_url, legal.links).variables)
    template = environment.get_template("legal/legal.html")
    return {
        name: _page(template.render(for_everybody(), heading=_HEADINGS[name], html=html))
        for name, html in documents.items()
    }


def _page(html: str) -> LegalTextPage:
    encoded = html.encode()
    return LegalTextPage(encoded, sha256(encoded).hexdigest()[:32])


CHANGED = "The documents have changed meanwhile. Read them again."
NOT_ACCEPTED = "To go on, accept the documents."


def add_consent_page(site: PageRegistry) -> None:
    """Serve the page; it leads back to where the person wanted to go."""

    @site.page(CONSENT, before_consent=True)
    async def show_documents(visitor: Visitor) -> Response:
        required = visitor.account.consent.required
        following = inside(visitor.query.get("next", ""), site.public_url)
        if required is None:
            return redirect(following)
        return await _documents(required, following)

    @site.form(CONSENT)
    async def accept(visitor: Visitor) -> Response:
        fields = visitor.form
        required = visitor.account.consent.required
        following = inside(fields.get("next", ""), site.public_url)
        if required is None:
            return redirect(following)
        if "accept" not in fields:
            trouble = FormErrors(400, "", {"accept": NOT_ACCEPTED})
            return await _documents(required, following, trouble)
        body = {name: fields.get(name) or None for name in ("termsVersion", "privacyVersion")}
        try:
            await visitor.api.send(ConsentRecorded, "POST", "/api/account/consent", body)
        except ConsentRequired as problem:
            return await _documents(
                required, following, FormErrors(problem.status, CHANGED, code=problem.code)
            )
        except Problem as problem:
            return await _documents(required, following, form_errors_of(problem))
        return redirect(following, "consent-recorded")


async def _documents(
    required: RequiredDocuments, following: str, trouble: FormErrors | None = None
) -> Response:
    return await show(
        "legal/consent.html", trouble=trouble, documents=required, form={"next": following}
    )
