"""The addresses in a note."""

import pytest

from octavo.render.link_writer import ExternalAddress, LocalAddress, read_address


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("a.md", LocalAddress("a.md", "")),
        ("../a%20b.md?c#d%20e", LocalAddress("../a b.md", "d e")),
        ("/a b", LocalAddress("/a b", "")),
        ("#a", LocalAddress("", "a")),
        ("", LocalAddress("", "")),
        ("a?b:c", LocalAddress("a", "")),
        ("http://a.example/é", ExternalAddress("http://a.example/%C3%A9")),
        ("HTTPS://a.example", ExternalAddress("HTTPS://a.example")),
        ("mailto:a@b.example", ExternalAddress("mailto:a@b.example")),
        ("//a.example", None),
        ("\\\\a", None),
        ("/\t/a", None),
        ("javascript:a", None),
        ("java\tscript:a", None),
        (" javascript:a", None),
        ("ht\ntp://a", None),
        ("ftp://a", None),
        ("octavo:1", None),
    ],
)
def test_address_is_of_a_file_or_of_a_site(
    written: str, address: ExternalAddress | LocalAddress | None
) -> None:
    assert read_address(written) == address
