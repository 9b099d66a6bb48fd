"""What a page shows is freed when the page is rendered, whatever macros its template has."""

import gc
import weakref

import jinja2
import pytest

from octavo.http.pages.frame import forget_pages

TEMPLATES = {
    "plain": "{{ note }}",
    "macro": "{% macro show() %}{{ note }}{% endmacro %}{{ show() }}",
    "argument": "{% macro show(it) %}{{ it }}{% endmacro %}{{ show(note) }}",
    "tree": "{% macro show(n) %}{{ note }}{% if n %}{{ show(n - 1) }}{% endif %}{% endmacro %}"
    "{{ show(2) }}",
    "frame": "{% macro show() %}{{ note }}{% endmacro %}{% block body %}{% endblock %}",
    "block": "{% extends 'frame' %}{% block body %}"
    "{% macro own() %}{{ note }}{% endmacro %}{{ own() }}{% endblock %}",
    "pieces": "{% macro piece(it) %}{{ it }}{{ note }}{% endmacro %}",
    "import": "{% import 'pieces' as pieces %}{{ pieces.piece(note) }}",
    "import with context": "{% import 'pieces' as pieces with context %}{{ pieces.piece(note) }}",
    "include": "{% set other = note %}{% include 'macro' %}",
}


class Note:
    """What is shown."""

    def __str__(self) -> str:
        return "tide"


@pytest.mark.parametrize("name", [each for each in TEMPLATES if each not in ("frame", "pieces")])
def test_what_a_page_shows_is_freed_when_it_is_rendered(name: str) -> None:
    environment = jinja2.Environment(loader=jinja2.DictLoader(TEMPLATES), autoescape=True)
    forget_pages(environment)
    template = environment.get_template(name)
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            note = Note()
            shown = weakref.ref(note)
            assert "tide" in template.render(note=note)
            del note
            assert shown() is None
    finally:
        gc.enable()
