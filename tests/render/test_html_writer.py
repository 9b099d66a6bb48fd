"""HTML whose elements are nested as browsers nest them."""

import nh3
import pytest

from octavo.render.html_writer import MAX_DEPTH, HtmlWriter, escaped, escaped_value


def written(*steps: str) -> str:
    """HTML of a person: ``<a>`` and ``</a>`` are tags, ``=a`` and ``/a`` those of Markdown."""
    writer = HtmlWriter()
    for step in steps:
        if step.startswith("</"):
            writer.close_written(step[2:-1])
        elif step.startswith("<"):
            writer.open_written(step[1:-1])
        elif step.startswith("="):
            writer.open(step[1:])
        elif step.startswith("/"):
            writer.close(step[1:])
        else:
            writer.text(step)
    return writer.html()


@pytest.mark.parametrize(
    ("steps", "html"),
    [
        ("=p <b> a </b> b /p", "<p><b>a</b>b</p>"),
        ("=p <b> a /p b", "<p><b>a</b></p>b"),
        ("=p </b> a </p> b /p", "<p>ab</p>"),
        ("=p <b> =em a </b> /em /p", "<p><b><em>a</em></b></p>"),
        ("=p =em a <div> b </div> /em c /p", "<p><em>a</em></p><div>b</div>c"),
        ("<p> a =ul =li b /li /ul", "<p>a</p><ul><li>b</li></ul>"),
        ("=p <a> a <a> b </a> c /p", "<p><a>ab</a>c</p>"),
        ("<ul> <li> a <li> b </ul> c", "<ul><li>a</li><li>b</li></ul>c"),
        ("=ul =li <li> a /li /ul", "<ul><li>a</li></ul>"),
        ("<dl> <dt> a <dd> b <dt> c", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        ("<h2> a =h3 b /h3", "<h2>a</h2><h3>b</h3>"),
        ("=h2 <h3> a </h3> /h2", "<h2>a</h2>"),
        ("<td> a </td> <tr> b", "ab"),
        ("<table> <td> a", "<table><tbody><tr><td>a</td></tr></tbody></table>"),
        (
            "<table> <tr> <td> a <td> b <tr> <th> c </table> d",
            "<table><tbody><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></tbody></table>d",
        ),
        (
            "<table> <thead> <tr> <th> b <tbody> <tr> <td> c",
            "<table><thead><tr><th>b</th></tr></thead><tbody><tr><td>c</td></tr></tbody></table>",
        ),
        ("<table> <caption> a </table>", "<table><caption>a</caption></table>"),
        ("<table> <tr> a </tr> b", "<table><tbody><tr></tr></tbody></table>ab"),
        ("<table> =p a /p </table>", "<table></table><p>a</p>"),
        (
            "<table> <tr> <td> =p a /p </td> </table>",
            "<table><tbody><tr><td><p>a</p></td></tr></tbody></table>",
        ),
        ("<ruby> a <rt> b <rt> c", "<ruby>a<rt>b</rt><rt>c</rt></ruby>"),
        (
            "<div> <table> <td> </div> a",
            "<div><table><tbody><tr><td>a</td></tr></tbody></table></div>",
        ),
    ],
)
def test_elements_are_closed_where_browsers_close_them(steps: str, html: str) -> None:
    assert written(*steps.split()) == html
    tags = {"p", "b", "em", "div", "ul", "li", "a", "dl", "dt", "dd", "h2", "h3", "ruby", "rt"}
    tags |= {"table", "tbody", "thead", "caption", "tr", "td", "th"}
    assert nh3.clean(html, tags=tags, link_rel=None) == html


def test_what_is_left_out_ends_with_its_element_or_block() -> None:
    writer = HtmlWriter()
    writer.open("p")
    writer.leave_out("script")
    writer.text("a")
    writer.close_written("script")
    writer.text("b")
    writer.leave_out("style")
    writer.open("em")
    writer.text("c")
    writer.close("em")
    writer.close("p")
    writer.text("d")
    assert writer.html() == "<p>b</p>d"


def test_tags_of_a_person_are_dropped_below_the_maximum_depth() -> None:
    html = written(*["<div>"] * (2 * MAX_DEPTH), "a")
    assert html == "<div>" * MAX_DEPTH + "a" + "</div>" * MAX_DEPTH


def test_text_and_values_are_escaped_as_the_sanitiser_does() -> None:
    assert escaped("<a & 'b' \"c\">") == "&lt;a &amp; 'b' \"c\"&gt;"
    assert escaped_value("<a\xa0\"'&") == "&lt;a&nbsp;&quot;'&amp;"
