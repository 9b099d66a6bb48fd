"""What the pipeline needs of a body, whatever its kind.

Models that refuse what they do not know, so that nothing that was sent is silently ignored.
"""

from typing import Protocol, TypeVar

from pydantic import BaseModel

from octavo.http.contract.bodies.body_reader import Headers
from octavo.http.server.asgi import Receive

T_co = TypeVar("T_co", covariant=True)


class BodyKind(Protocol[T_co]):
    """How the body of an operation is declared, and read."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """What it is sent as, for the contract document."""

    @property
    def limit(self) -> int:
        """Bytes of the whole body at most."""

    @property
    def time(self) -> float | None:
        """Seconds that the whole body may take; None for what every request may take.

        Whoever runs the request enforces it: `read` knows no deadline but that of its caller.
        """

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of what was sent; None for bytes."""

    async def read(self, headers: Headers, receive: Receive) -> T_co:
        """Return the body, or what reads it as it arrives.

        ``headers`` are those of the request, names in lower case.

        Raises:
            InvalidRequest: it does not match what was declared (400).
            BodyTooLarge: it passes ``limit`` (413): before a byte is read when its length was
                declared, else with the byte that is too much.
            UnsupportedMediaType: it is of another type (415).
            ClientLeft: the client left before its end.
        """


def check_closed(model: type[BaseModel]) -> None:
    """Raise ValueError when ``model``, or a model in it, lets members pass that it lacks."""
    schema = model.model_json_schema()
    # A model within another one stands in $defs, by its name.
    for name, part in ((model.__name__, schema), *schema.get("$defs", {}).items()):
        if "properties" in part and part.get("additionalProperties") is not False:
            raise ValueError(f"{name} lets undeclared members pass: set extra='forbid'")
