"""What a published page may consist of: for tests of pages as a browser has parsed them."""

from octavo.render.allowed import TAGS

FRAME = frozenset(
    {
        *("html", "head", "meta", "title", "link", "body", "main", "header", "article", "nav"),
        *("aside", "footer", "time", "bdi", "form", "label", "button"),
    }
)
"""The elements around a note."""
SCRIPT = """
    const found = [];
    for (const element of document.querySelectorAll("*")) {
        const name = element.localName;
        if (!arguments[0].includes(name)) found.push(`element ${name}`);
        for (const {name: attribute, value} of element.attributes) {
            if (/^on|^style$|^srcdoc$|^srcset$|^action$|^formaction$|^data$/i.test(attribute))
                found.push(`${name} ${attribute}`);
            if (/^(href|src|xlink:href|poster|background|cite)$/i.test(attribute)) {
                const scheme = new URL(value, document.baseURI).protocol;
                const may = name === "a" ? ["http:", "https:", "mailto:"] : ["http:"];
                if (!may.includes(scheme)) found.push(`${name} ${attribute}=${value}`);
                if (name !== "a" && new URL(value, document.baseURI).host !== location.host)
                    found.push(`${name} ${attribute}=${value}`);
            }
            if (name === "meta" && attribute === "http-equiv") found.push("meta http-equiv");
        }
    }
    return [...found, ...(window.ranHere || [])];
"""
"""Returns what must not be in the page: elements, attributes, addresses, and calls of scripts."""


def allowed_elements() -> list[str]:
    """The names of all elements that may be in a page."""
    return sorted(FRAME | TAGS)
