"""Models that refuse what they do not know, so that nothing that was sent is silently ignored."""

from pydantic import BaseModel


def check_closed(model: type[BaseModel]) -> None:
    """Raise ValueError when ``model``, or a model in it, lets members pass that it lacks."""
    schema = model.model_json_schema()
    # A model within another one stands in $defs, by its name.
    for name, part in ((model.__name__, schema), *schema.get("$defs", {}).items()):
        if "properties" in part and part.get("additionalProperties") is not False:
            raise ValueError(f"{name} lets undeclared members pass: set extra='forbid'")
