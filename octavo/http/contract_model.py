"""The bases of every model that stands in the contract: what is not declared is refused.

Members are named in camelCase on the wire and in snake_case here. A request is validated by the
names of the wire alone (``by_alias=True, by_name=False``); code makes an answer by the names
here, as the type checker knows them.
"""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


def header_name(name: str) -> str:
    """Answer the header that a field is named for: ``if_match`` is ``if-match``."""
    return name.replace("_", "-")


class ContractModel(BaseModel):
    """A body, a part of one, or the path and query parameters of an operation.

    A member is of the type declared or refused: ``"1"`` is no number in JSON. Text in a path or
    a query is read as the type declared.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


class HeaderModel(ContractModel):
    """The headers that an operation reads; any other is none of its business."""

    model_config = ConfigDict(alias_generator=header_name)
