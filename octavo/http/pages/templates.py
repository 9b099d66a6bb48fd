"""Templates that keep nothing of a page once it is rendered.

A macro refers to the context in which it was defined, and the context to its macros. What a page
shows, such as the text of a long note, would stay in memory until the garbage collector searches
all objects, which is rare in a server.
"""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import jinja2
from jinja2.runtime import Context

_CONTEXTS = "contexts_of_this_page"


class _Context(Context):
    def __init__(
        self,
        environment: jinja2.Environment,
        parent: dict[str, Any],
        name: str | None,
        blocks: dict[str, Callable[[Context], Iterator[str]]],
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002  # passed by this name
    ) -> None:
        super().__init__(environment, parent, name, blocks, globals)
        # Those of blocks and of included templates take the variables over.
        contexts = parent.get(_CONTEXTS)
        if contexts is not None:
            contexts.append(self)


class _Template(jinja2.Template):
    def render(self, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401  # any variables
        contexts: list[Context] = []
        try:
            return super().render(*args, **kwargs, **{_CONTEXTS: contexts})
        finally:
            for context in contexts:
                context.parent.clear()
                context.vars.clear()


def forget_pages(environment: jinja2.Environment) -> None:
    """Let the templates of ``environment``, of which none is loaded yet, keep nothing of a page."""
    environment.template_class = _Template
    environment.context_class = _Context
