"""The interface of a kind of body, and the check that its models reject unknown members."""

from collections.abc import Iterator
from typing import Protocol, TypeVar, get_args, get_origin

from pydantic import BaseModel, RootModel

from octavo.http.contract.bodies.body_reader import Headers
from octavo.http.server.asgi import Receive

T_co = TypeVar("T_co", covariant=True)


class BodyKind(Protocol[T_co]):
    """Declares and reads the body of an operation."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types accepted, for the API document."""

    @property
    def limit(self) -> int:
        """Maximum size of the body in bytes."""

    @property
    def time(self) -> float | None:
        """Seconds for the body to arrive; None for the server's default.

        The caller enforces it: `read` has no deadline.
        """

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of the body; None for bytes."""

    async def read(self, headers: Headers, receive: Receive) -> T_co:
        """Return the body, or an object that reads it as it arrives.

        ``headers`` are those of the request, names in lower case.

        Raises:
            InvalidRequest: the body does not match the declaration (400).
            BodyTooLarge: the body exceeds ``limit`` (413): before any byte is read when its length
                was declared, otherwise at the first byte in excess.
            UnsupportedMediaType: the body has another media type (415).
            ClientLeft: the client disconnected before the end of the body.
        """


def check_closed(model: type[BaseModel]) -> None:
    """Raise ValueError when ``model``, or a model in it, accepts undeclared members.

    Read from the classes: to generate the schema takes a fifth of the start of the server.
    """
    for kind in _kinds_in(model, set()):
        if issubclass(kind, BaseModel):
            if not issubclass(kind, RootModel) and kind.model_config.get("extra") != "forbid":
                raise ValueError(f"{kind.__name__} accepts undeclared members: set extra='forbid'")
        elif "__annotations__" in vars(kind):
            # A dataclass, a TypedDict or the like.
            raise ValueError(f"{kind.__name__} may accept undeclared members: use a model")


def _kinds_in(annotation: object, seen: set[type]) -> Iterator[type]:
    """Yield each class in ``annotation`` and in the fields of its models, but those ``seen``."""
    if not isinstance(annotation, type) or get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from _kinds_in(argument, seen)
    elif annotation not in seen:
        seen.add(annotation)
        yield annotation
        if issubclass(annotation, BaseModel):
            for field in annotation.model_fields.values():
                yield from _kinds_in(field.annotation, seen)
