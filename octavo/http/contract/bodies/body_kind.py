"""The interface of a kind of body, and the check that its models reject unknown members."""

from typing import Protocol, TypeVar

from pydantic import BaseModel

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
    """Raise ValueError when ``model``, or a model in it, accepts undeclared members."""
    schema = model.model_json_schema()
    # The schemas of nested models are in $defs, by name.
    for name, part in ((model.__name__, schema), *schema.get("$defs", {}).items()):
        if "properties" in part and part.get("additionalProperties") is not False:
            raise ValueError(f"{name} accepts undeclared members: set extra='forbid'")
