"""The settings of the legal documents."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from octavo.settings import KernelSettings
from octavo.settings.addresses import is_web_address, web_address
from octavo.settings.names import variable
from octavo.settings.values import Line, file, reads


def legal_document(text: str) -> str:
    """Read a legal document: the path of a file, or an http or https address."""
    return web_address(text) if is_web_address(text) else file(text)


_LegalDocument = Annotated[str, reads(legal_document)]


class LegalSettings(KernelSettings):
    """The documents that people accept."""

    terms: _LegalDocument = Field(
        default="",
        description="terms of the installation: a Markdown file, which is shown at /legal/terms, "
        "or an http(s) address. People must accept them",
    )
    terms_version: Line = Field(
        default="", description="version of the terms when they are an address"
    )
    privacy_notice: _LegalDocument = Field(
        default="",
        description="privacy notice of the installation: a Markdown file, which is shown at "
        "/legal/privacy, or an http(s) address. People must accept it",
    )
    privacy_version: Line = Field(
        default="", description="version of the privacy notice when it is an address"
    )

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        yield from super().contradictions()
        documents = {"terms": "terms_version", "privacy_notice": "privacy_version"}
        for name, version in documents.items():
            document, stated = getattr(self, name), getattr(self, version)
            if is_web_address(document) and not stated:
                yield (
                    f"{variable(name)} is an address, and Octavo does not see when the page "
                    f"changes: give the version that people accept in {variable(version)}"
                )
            elif stated and not document:
                yield f"{variable(version)} has no document: give {variable(name)}, too"
            elif stated and not is_web_address(document):
                yield (
                    f"{variable(name)} is a file, which has its own version: leave out "
                    f"{variable(version)}, and give the version in the front matter of the file"
                )
