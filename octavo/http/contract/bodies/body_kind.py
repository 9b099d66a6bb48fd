"""The interface of a kind of body, and the check that its models reject unknown members."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import ForwardRef, Literal, Protocol, TypeVar, get_args, get_origin

from antechamber.asgi import Receive
from octavo_rules.problems import Problem
from pydantic import BaseModel, JsonValue, RootModel

from octavo.http.contract.bodies.body_reader import Headers

T_co = TypeVar("T_co", covariant=True)

_ANY_JSON: object = JsonValue
"""Where any JSON is accepted, it is accepted deliberately."""


class BodyKind(Protocol[T_co]):
    """Declares and reads the body of an operation."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types accepted, for the API document."""

    @property
    def limit(self) -> int:
        """Maximum size of the body in bytes."""

    @property
    def too_large(self) -> type[Problem]:
        """The problem of a body above ``limit``."""

    @property
    def time(self) -> float | None:
        """Seconds for the body to arrive; None for the server's default.

        The caller enforces it: `read` has no deadline.
        """

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of the body; None for bytes."""

    @property
    def schema(self) -> Mapping[str, object] | None:
        """The schema in the API document, where its title is its name; None for the model's."""

    async def read(self, headers: Headers, receive: Receive) -> T_co:
        """Return the body, or an object that reads it as it arrives.

        ``headers`` are those of the request, names in lower case.

        Raises:
            InvalidRequest: the body does not match the declaration (400).
            Problem: ``too_large``, as the body exceeds ``limit``: before any byte is read when its
                length was declared, otherwise at the first byte in excess.
            UnsupportedMediaType: the body has another media type (415).
            ClientLeft: the client disconnected before the end of the body.
        """


def check_closed(model: type[BaseModel]) -> None:
    """Raise ValueError when ``model``, or a model in it, accepts undeclared members.

    Read from the classes: generating the schema reads the source of each model for its docstrings,
    which would slow the start of the server.
    """
    for kind in _kinds_in(model, set()):
        if issubclass(kind, BaseModel):
            if not issubclass(kind, RootModel) and kind.model_config.get("extra") != "forbid":
                raise ValueError(f"{kind.__name__} accepts undeclared members: set extra='forbid'")
        elif is_dataclass(kind) or "__annotations__" in vars(kind):
            # Or a TypedDict, or the like.
            raise ValueError(f"{kind.__name__} may accept undeclared members: use a model")


def _kinds_in(annotation: object, seen: set[object]) -> Iterator[type]:
    """Yield each class in ``annotation`` and in the fields of its models, but those ``seen``.

    Raises ValueError for an annotation that can't be followed.
    """
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if annotation in seen:
            return
        seen.add(annotation)
        yield annotation
        if issubclass(annotation, BaseModel):
            # Names of classes that are defined later.
            annotation.model_rebuild()
            for field in annotation.model_fields.values():
                yield from _kinds_in(field.annotation, seen)
    elif isinstance(annotation, TypeVar | ForwardRef) or hasattr(annotation, "__value__"):
        if annotation is not _ANY_JSON:
            raise ValueError(f"{annotation} can't be followed: name its class")
    elif get_origin(annotation) is not Literal:
        for part in (get_origin(annotation), *get_args(annotation)):
            if part is not None:
                yield from _kinds_in(part, seen)
