"""Collect the JSON schemas of the contract's models under their public names."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from octavo.http.contract.contract_model import SUFFIX, attribute_docstrings
from octavo.http.contract.operation import Operation

Json = dict[str, object]
Mode = Literal["validation", "serialization"]

_REFERENCE = "#/components/schemas/"


class Parameter(NamedTuple):
    """A path or query parameter, or a header."""

    name: str
    required: bool
    schema: Json


class _ModelSchemas(GenerateJsonSchema):
    """Names each schema after its model, without the suffix ``Schema``; adds its docstrings."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix(SUFFIX)

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model, with the docstrings of its members."""
        made = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        properties = made.get("properties", {})
        for name, text in attribute_docstrings(model, BaseModel).items():
            field = model.model_fields.get(name)
            known = field and (field.serialization_alias or field.alias or name)
            if known in properties:
                properties[known].setdefault("description", text)
        return made


class Schemas:
    """The schemas of all inputs and responses of ``operations``.

    Attributes:
        components: the referenced schemas, by name.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        wanted: dict[tuple[object, Mode], None] = {}
        parts: dict[type[BaseModel], None] = {}
        for each in operations:
            models = (each.path_model, each.query_model, each.header_model)
            parts |= dict.fromkeys(model for model in models if model is not None)
            if each.body is not None and each.body.model is not None:
                wanted[each.body.model, "validation"] = None
            if each.response_type is not None:
                wanted[each.response_type, "serialization"] = None
        keys = [*wanted, *((part, "validation") for part in parts)]
        made, shared = TypeAdapter.json_schemas(
            [
                (at, mode, TypeAdapter(cast("type[object]", kind)))
                for at, (kind, mode) in enumerate(keys)
            ],
            by_alias=True,
            ref_template=f"{_REFERENCE}{{model}}",
            schema_generator=_ModelSchemas,
        )
        found = [cast("Json", made[at, mode]) for at, (_, mode) in enumerate(keys)]
        definitions = cast("dict[str, Json]", shared.get("$defs", {}))
        self._schemas = dict(zip(wanted, found, strict=False))
        self._parameters: dict[type[BaseModel], list[Parameter]] = {}
        taken: set[str] = set()
        for part, schema in zip(parts, found[len(wanted) :], strict=True):
            name = _referred(schema)
            taken.add(name)
            self._parameters[part] = _parameters(definitions[name])
        # Parameters are described where they occur; the model that groups them is left out.
        referenced = {_referred(schema) for schema in self._schemas.values()}
        self.components = {
            name: definitions[name]
            for name in sorted(definitions)
            if name not in taken - referenced
        }

    def of(self, kind: object, mode: Mode) -> Json:
        """Return the schema of a body (``validation``) or of a response (``serialization``)."""
        return self._schemas[kind, mode]

    def parameters(self, model: type[BaseModel] | None) -> list[Parameter]:
        """Return the parameters in ``model``, in definition order."""
        return [] if model is None else self._parameters[model]


def _referred(schema: Json) -> str:
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def _parameters(model: Json) -> list[Parameter]:
    required = cast("list[str]", model.get("required", []))
    properties = cast("dict[str, Json]", model.get("properties", {}))
    return [Parameter(name, name in required, schema) for name, schema in properties.items()]
