"""The templates of paths: ``/api/notes/{noteId}/lines/{line}``."""

import re

from octavo.http.operation import ContractError

# Characters that no client percent-encodes (RFC 3986 section 2.3).
_STATIC = re.compile(r"[A-Za-z0-9._~-]+")
_PARAMETER = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")


def segments_of(template: str) -> tuple[str | None, ...]:
    """Answer the segments of ``template`` in order, None for each parameter.

    Raises `ContractError` for what is no template.
    """
    first, *segments = template.split("/")
    if first or not segments:
        raise ContractError(f"{template} has to start with a slash")
    if segments == [""]:
        return ("",)
    return tuple(_segment(template, segment) for segment in segments)


def _segment(template: str, segment: str) -> str | None:
    if _PARAMETER.fullmatch(segment):
        return None
    if not _STATIC.fullmatch(segment):
        raise ContractError(f"{template}: {segment!r} is no segment of a template")
    return segment


def parameters_of(template: str) -> tuple[str, ...]:
    """Answer the names of the parameters of ``template``, in order.

    Raises `ContractError` for what is no template, or names one twice.
    """
    segments_of(template)
    names = tuple(_PARAMETER.findall(template))
    if len(set(names)) < len(names):
        raise ContractError(f"{template} names a parameter twice")
    return names


def is_identifier(parameter: str) -> bool:
    """Answer whether the ``parameter`` of a path takes a UUID and nothing else."""
    return parameter.endswith("Id")
