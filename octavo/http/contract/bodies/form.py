"""HTML form fields as a body."""

from collections.abc import Iterable
from typing import Generic, TypeVar, get_origin
from urllib.parse import unquote_to_bytes

from antechamber.asgi import Receive
from octavo_rules.problems import BodyTooLarge, InvalidRequest
from pydantic import BaseModel, ValidationError

from octavo.http.contract.bodies.body import (
    Headers,
    body_head,
    check_closed,
    in_utf8,
    invalid_request,
    parse_media_type,
    pointer,
    refuse_media_type,
    whole_body,
)

M = TypeVar("M", bound=BaseModel)

FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
_LIST_TYPES = (list, tuple, set, frozenset)


class FormBody(Generic[M]):
    """The body kind of `form_body`."""

    too_large = BodyTooLarge

    def __init__(
        self,
        model: type[M],
        limit: int,
        fields: int,
        *,
        ignores_others: bool = False,
    ) -> None:
        self.model = model
        self.limit = limit
        self.fields = fields
        self.media_types = (FORM_MEDIA_TYPE,)
        self.schema = None
        self._validate = model.__pydantic_validator__.validate_python
        names = {
            field.validation_alias if isinstance(field.validation_alias, str) else name: field
            for name, field in model.model_fields.items()
        }
        self._known = frozenset(names) if ignores_others else None
        self._repeatable = frozenset(
            name for name, field in names.items() if get_origin(field.annotation) in _LIST_TYPES
        )

    async def read(self, headers: Headers, receive: Receive) -> M:
        """Return the form. Raises the same errors as `BodyKind.read`."""
        declared, _ = body_head(headers, self.limit)
        media_type = parse_media_type(declared or b"")
        if media_type is None or media_type.essence != FORM_MEDIA_TYPE or not in_utf8(media_type):
            refuse_media_type(self.media_types)
        return self.parse(await whole_body(receive, self.limit))

    def parse(self, body: bytes) -> M:
        """Return the form in ``body``. Raises `InvalidRequest`."""
        fields = parse_form(body, self.fields)
        if self._known is not None:
            fields = [field for field in fields if field[0] in self._known]
        document = _document(fields, self._repeatable)
        try:
            # Form fields are text, which is parsed as the declared type.
            form: M = self._validate(document, strict=False, by_alias=True, by_name=False)
        except ValidationError as error:
            raise invalid_request(error, document, "The form") from None
        return form


def form_body(
    model: type[M],
    *,
    limit: int,
    fields: int = 100,
    ignores_others: bool = False,
) -> FormBody[M]:
    """Declare a body of the form fields of ``model`` (URL standard, section 5.1).

    It has at most ``limit`` bytes and ``fields`` fields. A field that ``model`` declares as a list
    may be repeated, any other may not. Undeclared fields are refused, unless a protocol demands
    that the body ``ignores_others``. Raises ValueError when the model accepts undeclared fields.
    """
    check_closed(model)
    return FormBody(model, limit, fields, ignores_others=ignores_others)


def parse_form(body: bytes, maximum: int) -> list[tuple[str, str]]:
    """Return the names and values of the fields of ``body``, in order.

    Raises `InvalidRequest` for more than ``maximum`` fields and for invalid UTF-8. The URL standard
    would replace invalid bytes, which could silently change a password.
    """
    if body.count(b"&") >= maximum:
        raise InvalidRequest(f"The form may have at most {maximum} fields.")
    try:
        return [
            (_text(name), _text(value))
            for name, _, value in (field.partition(b"=") for field in body.split(b"&") if field)
        ]
    except UnicodeDecodeError:
        raise InvalidRequest("The form is not UTF-8.") from None


def _text(coded: bytes) -> str:
    return unquote_to_bytes(coded.replace(b"+", b" ")).decode()


def _document(
    fields: Iterable[tuple[str, str]], repeatable: frozenset[str]
) -> dict[str, str | list[str]]:
    single: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    for name, value in fields:
        if name in repeatable:
            several.setdefault(name, []).append(value)
        elif name in single:
            message = "This field occurs more than once: send it once."
            raise InvalidRequest(errors=[(pointer((name,)), message)])
        else:
            single[name] = value
    return {**single, **several}
