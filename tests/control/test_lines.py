"""The lines of the control protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.control.lines import (
    BadLine,
    error_line,
    read_request,
    read_response,
    request_line,
    result_line,
)

TEXT = st.text(st.characters(codec="utf-8"))


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_request_is_one_line_and_round_trips(command: str) -> None:
    line = request_line(command)
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert read_request(line) == (command, {})


@given(TEXT)
def test_response_is_one_line_and_round_trips(text: str) -> None:
    assert read_response(result_line(text)) == (text, None)
    assert read_response(error_line(text)) == (None, text)
    assert result_line(text).count(b"\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"actors\n",
        b"[]\n",
        b"{}\n",
        b'{"command": ""}\n',
        b'{"command": 1}\n',
        b'{"command": "actors", "more": 1}\n',
        b'{"command": "\xff"}\n',
        b'{"command": "actors"',
        b"[" * 1000,
    ],
)
def test_malformed_request_is_refused_with_what_is_expected(line: bytes) -> None:
    with pytest.raises(BadLine, match="send a line such as"):
        read_request(line)


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"nonsense", b'{"result": "a", "error": "b"}', b'{"result": 1}']
)
def test_malformed_response_is_refused(line: bytes) -> None:
    with pytest.raises(BadLine, match="the response "):
        read_response(line)


@given(st.binary(max_size=100))
def test_request_of_any_bytes_is_read_or_refused(line: bytes) -> None:
    try:
        command, _ = read_request(line)
    except BadLine:
        return
    assert command


@given(
    st.dictionaries(
        TEXT, TEXT | st.integers(-(1 << 40), 1 << 40) | st.booleans() | st.none(), max_size=16
    )
)
def test_arguments_round_trip(arguments: dict[str, str | int | bool | None]) -> None:
    line = request_line("account", arguments)
    assert line.count(b"\n") == 1
    assert read_request(line) == ("account", arguments)


def test_too_many_arguments_are_refused() -> None:
    with pytest.raises(BadLine):
        read_request(request_line("account", {str(number): 1 for number in range(17)}))
