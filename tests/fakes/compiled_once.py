"""What applications of pages compile when they are made, once in a process instead of once in each.

Most tests of pages make an application. Each would compile the templates that it shows, and a
function for each of its rules, twice, that writes the addresses of the rule, which no page calls.
"""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment
from werkzeug.routing import Rule

Write = Callable[..., tuple[str, str]]

_compile: Callable[..., Any] = Environment.compile
_compile_builder: Callable[[Rule, bool], Write] = Rule._compile_builder
_compiled: dict[tuple[object, ...], Any] = {}


def _compile_once(
    environment: Environment,
    source: Any,  # noqa: ANN401 - as jinja2 declares it
    name: str | None = None,
    filename: str | None = None,
    **more: bool,
) -> Any:  # noqa: ANN401
    escape = environment.autoescape
    # Each application makes its own, which is called when a page is rendered: the code is the same.
    finalize = getattr(environment.finalize, "__code__", environment.finalize)
    # Everything that decides the code of a template, in the environments of Octavo.
    key = (
        *(source, name, filename, *sorted(more.items())),
        escape(name) if callable(escape) else escape,
        *(type(environment), environment.is_async, environment.undefined),
        *(environment.trim_blocks, environment.lstrip_blocks, environment.optimized),
        *(tuple(environment.filters.items()), tuple(environment.tests), finalize),
    )
    if key not in _compiled:
        _compiled[key] = _compile(environment, source, name, filename, **more)
    return _compiled[key]


def _compile_when_called(rule: Rule, append_unknown: bool = True) -> Write:
    compiled: Write | None = None

    def write(self: Rule, **values: object) -> tuple[str, str]:
        nonlocal compiled
        if compiled is None:
            compiled = _compile_builder(rule, append_unknown)
        return compiled(self, **values)

    return write


def install() -> None:
    """Let the applications of this process share what is equal in all of them."""
    Environment.compile = _compile_once  # type: ignore[method-assign, assignment]
    Rule._compile_builder = _compile_when_called  # type: ignore[method-assign, assignment]
