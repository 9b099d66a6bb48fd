"""What the settings accept, refuse, and say when they refuse."""

import dataclasses
import math
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.settings import Settings, SettingsError, describe, option, variable


def problems_of(
    environment: dict[str, str], options: dict[str, str | None] | None = None
) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environment, options)
    return caught.value.problems


def test_load_nothing_given_answers_the_defaults() -> None:
    assert Settings.load({}) == Settings()
    assert (Settings().host, Settings().port) == ("127.0.0.1", 8080)


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings.load({}).port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("host", "0.0.0.0", "0.0.0.0"),
        ("host", "::1", "::1"),
        ("host", "[::1]", "::1"),
        ("host", "localhost", "localhost"),
        ("host", "notes.example.org", "notes.example.org"),
        ("port", "0", 0),
        ("port", "65535", 65535),
        ("grace", "0.5", 0.5),
        ("grace", "3600", 3600.0),
        ("drain", "2", 2.0),
        ("head_time", "0.5", 0.5),
        ("head_size", "2048", 2048),
        ("connections", "1", 1),
        ("log_format", "json", "json"),
        ("proxy_header", "forwarded", "forwarded"),
        ("trusted_proxies", "10.0.0.0/8, ::1", (ip_network("10.0.0.0/8"), ip_network("::1"))),
    ],
)
def test_load_accepts_from_the_environment_and_from_an_option(
    name: str, text: str, value: object
) -> None:
    assert getattr(Settings.load({variable(name): text}), name) == value
    assert getattr(Settings.load({}, {name: text}), name) == value


def test_load_option_goes_before_the_environment() -> None:
    assert Settings.load({"OCTAVO_PORT": "nonsense"}, {"port": "1234", "host": None}).port == 1234


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("host", "", "is empty"),
        ("host", "two words", "no IP address and no host name"),
        ("host", "a..b", "no IP address and no host name"),
        ("host", "-a", "no IP address and no host name"),
        ("host", "a" * 254, "no IP address and no host name"),
        ("port", "65536", "whole number from 0"),
        ("port", "-1", "whole number from 0"),
        ("port", "80.0", "whole number from 0"),
        ("port", "٨٠", "whole number from 0"),
        ("port", "tcp://10.0.0.7:8080", "container platform"),
        ("grace", "soon", "give seconds"),
        ("grace", "-1", "give seconds"),
        ("grace", "nan", "give seconds"),
        ("grace", "inf", "give seconds"),
        ("grace", "3601", "from 0 to 3600"),
        ("head_time", "0", "from 0.1 to 86400"),
        ("idle_time", "nan", "from 0.1 to 86400"),
        ("head_size", "1023", "1024 or more"),
        ("head_size", "16k", "give a whole one"),
        ("connections", "0", "1 or more"),
        ("connections", "9999999999", "1 or more"),
        ("log_format", "xml", "give console or json"),
        ("proxy_header", "x-real-ip", "give x-forwarded or forwarded"),
        ("trusted_proxies", "10.0.0.1/8", "addresses or networks"),
        ("trusted_proxies", "proxy.example", "addresses or networks"),
        ("tls_key", "/nowhere/key.pem", "is no file"),
    ],
)
def test_load_refuses_and_says_where_what_and_what_instead(name: str, text: str, says: str) -> None:
    (problem,) = problems_of({variable(name): text})
    assert problem.startswith(f"{variable(name)}={text!r} ")
    assert says in problem
    (of_the_option,) = problems_of({}, {name: text})
    assert of_the_option == problem.replace(variable(name), option(name))


def test_load_several_wrong_names_them_all() -> None:
    problems = problems_of({"OCTAVO_PORT": "x", "OCTAVO_GRACE": "y"}, {"host": "!"})
    assert [problem.split("=")[0] for problem in problems] == [
        "--host",
        "OCTAVO_PORT",
        "OCTAVO_GRACE",
    ]


def test_load_drain_longer_than_grace_is_refused() -> None:
    (problem,) = problems_of({"OCTAVO_DRAIN": "11"})
    assert "lower OCTAVO_DRAIN or raise OCTAVO_GRACE" in problem


def test_load_certificate_without_its_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.pem"
    file.touch()
    for name in ("tls_certificate", "tls_key"):
        (problem,) = problems_of({variable(name): str(file)})
        assert "give both OCTAVO_TLS_CERTIFICATE and OCTAVO_TLS_KEY" in problem


@pytest.mark.parametrize("name", ["OCTAVO_PROT", "OCTAVO_HOTS", "OCTAVO_GRASE"])
def test_load_misspelled_variable_is_named(name: str) -> None:
    (problem,) = problems_of({name: "1"})
    assert problem.startswith(f"{name} is no setting: did you mean OCTAVO_")


@pytest.mark.parametrize(
    "name", ["OCTAVO_SERVICE_HOST", "OCTAVO_SERVICE_PORT", "OCTAVO_PORT_8080_TCP_PROTO", "PORT"]
)
def test_load_variables_of_others_pass_unnoticed(name: str) -> None:
    assert Settings.load({name: "tcp://10.0.0.7:8080"}) == Settings()


@given(st.text())
def test_load_any_text_is_accepted_or_refused_and_never_crashes(text: str) -> None:
    try:
        settings = Settings.load({}, {"host": text, "port": text, "grace": text})
    except SettingsError:
        return
    assert 0 <= settings.port <= 65535
    assert math.isfinite(settings.grace)


def test_describe_names_every_setting_once() -> None:
    names = [name for name, _, _ in describe()]
    assert names == [field.name for field in dataclasses.fields(Settings)]
