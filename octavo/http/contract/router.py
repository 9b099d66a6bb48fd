"""Route paths by templates: static paths by dictionary, the others segment by segment.

Templates look like ``/api/notes/{noteId}/lines/{line}``. Segments are decoded after the path was
split, so an encoded slash stays part of its segment (RFC 3986 section 2.2). A trailing slash makes
a different path. Static segments take precedence over parameters, from left to right; a parameter
matches any non-empty segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar
from urllib.parse import unquote

from octavo.http.contract.operation import ContractError

# Characters that clients do not percent-encode (RFC 3986 section 2.3).
_STATIC = re.compile(r"[A-Za-z0-9._~-]+")
_PARAMETER = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")


def segments_of(template: str) -> tuple[str | None, ...]:
    """Return the segments of ``template`` in order, None for each parameter.

    Raises `ContractError` for an invalid template.
    """
    first, *segments = template.split("/")
    if first or not segments:
        raise ContractError(f"{template} must start with a slash")
    if segments == [""]:
        return ("",)
    return tuple(_segment(template, segment) for segment in segments)


def _segment(template: str, segment: str) -> str | None:
    if _PARAMETER.fullmatch(segment):
        return None
    if not _STATIC.fullmatch(segment):
        raise ContractError(f"{template}: {segment!r} is not a valid segment of a template")
    return segment


def parameters_of(template: str) -> tuple[str, ...]:
    """Return the names of the parameters of ``template``, in order.

    Raises `ContractError` for an invalid template or a duplicate name.
    """
    segments_of(template)
    names = tuple(_PARAMETER.findall(template))
    if len(set(names)) < len(names):
        raise ContractError(f"{template} names a parameter twice")
    return names


def is_identifier(parameter: str) -> bool:
    """Return whether the path ``parameter`` must be a UUID."""
    return parameter.endswith("Id")


T = TypeVar("T")


class Resource(Generic[T]):
    """A template and its methods.

    Attributes:
        methods: the endpoint of each method; HEAD as GET.
        allow: value of the ``allow`` header (RFC 9110 section 10.2.1).
    """

    def __init__(self, methods: Mapping[str, T]) -> None:
        self.methods = dict(methods)
        if "GET" in self.methods:
            self.methods["HEAD"] = self.methods["GET"]
        self.allow = ", ".join(sorted({*self.methods, "OPTIONS"})).encode()


class _RouteNode(Generic[T]):
    def __init__(self) -> None:
        self.static: dict[str, _RouteNode[T]] = {}
        self.parameter: _RouteNode[T] | None = None
        self.resource: Resource[T] | None = None


class Router(Generic[T]):
    """The routing table, built once.

    Args:
        entries: method, template and endpoint. The last of duplicates wins.

    Raises:
        ContractError: a template is invalid.
    """

    def __init__(self, entries: Iterable[tuple[str, str, T]]) -> None:
        table: dict[tuple[str | None, ...], dict[str, T]] = {}
        for method, template, target in entries:
            table.setdefault(segments_of(template), {})[method] = target
        self._exact: dict[bytes, Resource[T]] = {}
        self._root: _RouteNode[T] = _RouteNode()
        self._deepest = max(map(len, table), default=0)
        for segments, methods in table.items():
            resource = Resource(methods)
            self._node(segments).resource = resource
            static = [segment for segment in segments if segment is not None]
            if len(static) == len(segments):
                self._exact[b"/" + "/".join(static).encode()] = resource

    def _node(self, segments: tuple[str | None, ...]) -> _RouteNode[T]:
        node = self._root
        for segment in segments:
            if segment is not None:
                node = node.static.setdefault(segment, _RouteNode())
            else:
                if node.parameter is None:
                    node.parameter = _RouteNode()
                node = node.parameter
        return node

    def find(self, raw_path: bytes) -> tuple[Resource[T] | None, list[str]]:
        """Return the resource at ``raw_path``, and the decoded values of its parameters.

        ``raw_path`` is the path as received, without the query. What is not UTF-8 is decoded as
        U+FFFD. The resource is None when nothing matches.
        """
        exact = self._exact.get(raw_path)
        values: list[str] = []
        if exact is not None:
            return exact, values
        segments = raw_path.decode(errors="replace").split("/")
        if b"%" in raw_path:
            segments = [unquote(segment) for segment in segments]
        if len(segments) - 1 > self._deepest or segments[0]:
            return None, values
        node = self._root
        for segment in segments[1:]:
            child = node.static.get(segment)
            if child is None:
                child = node.parameter
                if child is None or not segment:
                    return None, []
                values.append(segment)
            elif node.parameter is not None:
                # A parameter is tried next if the static segment leads nowhere.
                values.clear()
                return _walk(self._root, segments, 1, values), values
            node = child
        return node.resource, values if node.resource is not None else []


def _walk(
    node: _RouteNode[T], segments: list[str], at: int, values: list[str]
) -> Resource[T] | None:
    if at == len(segments):
        return node.resource
    segment = segments[at]
    child = node.static.get(segment)
    if child is not None:
        resource = _walk(child, segments, at + 1, values)
        if resource is not None:
            return resource
    if node.parameter is not None and segment:
        values.append(segment)
        resource = _walk(node.parameter, segments, at + 1, values)
        if resource is not None:
            return resource
        values.pop()
    return None
