"""What the settings accept and refuse, and their error messages."""

import json
from collections.abc import Iterable
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from octavo.features.accounts.settings import NamedAddress
from octavo.service.settings import Settings
from octavo.settings import Bind, SettingsError, read_settings
from octavo.settings.addresses import DatabaseUrl, origin
from octavo.settings.names import RENAMED, option, variable
from octavo.settings.reading import describe, plain, shown

DATABASE = "postgresql://octavo:hidden@db.example:5432/notes?sslmode=require"
MAIL = {"OCTAVO_SMTP_HOST": "mail.example.org", "OCTAVO_MAIL_FROM": "notes@example.org"}
LEGAL = {
    "OCTAVO_TERMS": __file__,
    "OCTAVO_PRIVACY_NOTICE": "https://example.org/privacy",
    "OCTAVO_PRIVACY_VERSION": "2026-05",
}
MAIL_CREDENTIALS = {"OCTAVO_SMTP_USER": "octavo", "OCTAVO_SMTP_PASSWORD": "hidden"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that no octavo.toml is read that a test did not write."""
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "octavo.toml") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def problems_of(
    environment: dict[str, str],
    options: dict[str, str | None] | None = None,
    config: str | None = None,
) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read_settings(Settings, environment, options, config)
    return caught.value.problems


def test_read_without_sources_returns_the_defaults() -> None:
    found = read_settings(Settings, {})
    assert (found.settings, found.origins, found.file) == (Settings(), {}, None)


def test_settings_have_the_documented_defaults() -> None:
    settings = Settings()
    assert settings.bind == Bind("127.0.0.1", 8080)
    assert settings.public_url == "http://localhost:8080"
    assert settings.data_dir == Path("octavo-data")
    assert settings.database is None
    assert settings.pool_size == 10
    assert (settings.session_idle_days, settings.session_absolute_days) == (30, 90)
    assert settings.sign_in_attempts_per_address == 10
    assert settings.sign_in_attempts_per_client == 60
    assert settings.sign_in_attempts_time == 300


def test_settings_created_in_code_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_SHUTDOWN_TIMEOUT", "7")
    monkeypatch.setenv("GRACE", "7")
    write("shutdown_timeout = 7")
    assert Settings().shutdown_timeout == 10


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().shutdown_timeout = 1


def test_settings_created_in_code_are_validated_too() -> None:
    with pytest.raises(ValidationError, match="is not a time"):
        Settings(shutdown_timeout=-1)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("bind", "0.0.0.0:80", Bind("0.0.0.0", 80)),
        ("bind", "127.0.0.1:0", Bind("127.0.0.1", 0)),
        ("bind", "[::1]:65535", Bind("::1", 65535)),
        ("bind", "[0:0::1]", Bind("::1", 8080)),
        ("bind", "9000", Bind("127.0.0.1", 9000)),
        ("bind", "10.0.0.1", Bind("10.0.0.1", 8080)),
        ("bind", "notes.example.org:81", Bind("notes.example.org", 81)),
        ("public_url", "HTTPS://Notes.Example.org:443/", "https://notes.example.org"),
        ("public_url", "http://notes.example.org:080", "http://notes.example.org"),
        ("public_url", "http://[0::1]:8080", "http://[::1]:8080"),
        ("data_dir", "here", Path("here")),
        ("database", DATABASE, DatabaseUrl(DATABASE)),
        ("database", "postgres:///notes", DatabaseUrl("postgres:///notes")),
        ("database", "postgresql://a:1,b:2/notes", DatabaseUrl("postgresql://a:1,b:2/notes")),
        ("object_store", "s3://notes", "s3://notes"),
        ("object_store", "az://notes/octavo/", "az://notes/octavo"),
        ("object_store", "gs://notes.example.org/a/b_c-1.2", "gs://notes.example.org/a/b_c-1.2"),
        ("pool_size", "3", 3),
        ("download_bytes_per_month", "0", 0),
        ("download_objects_per_month", "9007199254740991", 2**53 - 1),
        ("write_objects_per_month", "1000000", 1_000_000),
        ("shutdown_timeout", "0.5", 0.5),
        ("shutdown_timeout", "3600", 3600.0),
        ("drain_timeout", "2", 2.0),
        ("session_idle_days", "0.5", 0.5),
        ("sign_in_attempts_time", "60", 60.0),
        ("header_timeout", "0.5", 0.5),
        ("head_size", "2048", 2048),
        ("connections", "1", 1),
        ("log_format", "json", "json"),
        ("proxy_header", "forwarded", "forwarded"),
        ("trusted_proxies", "10.0.0.0/8, ::1", (ip_network("10.0.0.0/8"), ip_network("::1"))),
        ("registration_policy", "invitation", "invitation"),
        (
            "portal",
            "billing=https://billing.example.org/start?a=b, my-plan=http://localhost:81",
            (
                NamedAddress("billing", "https://billing.example.org/start?a=b"),
                NamedAddress("my-plan", "http://localhost:81"),
            ),
        ),
        ("smtp_port", "2525", 2525),
        ("mail_per_address", "3", 3),
    ],
)
def test_read_accepts_from_every_source(name: str, text: str, value: object) -> None:
    assert getattr(read_settings(Settings, {variable(name): text}).settings, name) == value
    if text != DATABASE:
        assert getattr(read_settings(Settings, {}, {name: text}).settings, name) == value
    write(f"{name} = {json.dumps(text)}")
    assert getattr(read_settings(Settings, {}).settings, name) == value


@pytest.mark.parametrize(
    ("toml", "name", "value"),
    [
        ("bind = 9000", "bind", Bind("127.0.0.1", 9000)),
        ("shutdown_timeout = 5", "shutdown_timeout", 5.0),
        ("shutdown_timeout = 0.5", "shutdown_timeout", 0.5),
        ("connections = 7", "connections", 7),
        ('trusted_proxies = ["::1"]', "trusted_proxies", (ip_network("::1"),)),
    ],
)
def test_read_file_may_have_numbers_and_lists(toml: str, name: str, value: object) -> None:
    write(toml)
    assert getattr(read_settings(Settings, {}).settings, name) == value


def test_read_stronger_source_takes_precedence_and_is_named() -> None:
    write('shutdown_timeout = "nonsense"\ndrain_timeout = "nonsense"\nidle_timeout = 1')
    found = read_settings(
        Settings,
        {"OCTAVO_SHUTDOWN_TIMEOUT": "nonsense", "OCTAVO_DRAIN_TIMEOUT": "2"},
        {"shutdown_timeout": "3", "drain_timeout": None},
    )
    settings = found.settings
    assert (settings.shutdown_timeout, settings.drain_timeout, settings.idle_timeout) == (3, 2, 1)
    assert found.origins == {
        "shutdown_timeout": "--shutdown-timeout",
        "drain_timeout": "OCTAVO_DRAIN_TIMEOUT",
        "idle_timeout": "octavo.toml: idle_timeout",
    }


def test_read_file_named_by_an_option_takes_precedence_over_the_environment() -> None:
    write("shutdown_timeout = 1")
    write("shutdown_timeout = 2", "environment.toml")
    write("shutdown_timeout = 3", "option.toml")
    environment = {"OCTAVO_CONFIG": "environment.toml"}
    assert read_settings(Settings, {}).settings.shutdown_timeout == 1
    assert read_settings(Settings, environment).settings.shutdown_timeout == 2
    found = read_settings(Settings, environment, config="option.toml")
    assert (found.settings.shutdown_timeout, found.file) == (3, Path("option.toml"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("bind", "two words:80", "is not an address"),
        ("bind", "a..b:80", "is not an address"),
        ("bind", "-a:80", "is not an address"),
        ("bind", ":80", "is not an address"),
        ("bind", "256.1.1.1:80", "is not an address"),
        ("bind", "[127.0.0.1]:80", "is not an address"),
        ("bind", "a" * 254, "is not an address"),
        ("bind", "٨٠", "is not an address"),
        ("bind", "[::1", "is not an address"),
        ("bind", "::1", "brackets"),
        ("bind", "::1:8080", "brackets"),
        ("bind", "127.0.0.1:65536", "whole number from 0"),
        ("bind", "65536", "whole number from 0"),
        ("bind", "localhost:", "whole number from 0"),
        ("bind", "localhost:80.0", "whole number from 0"),
        ("public_url", "notes.example.org", "is not an origin"),
        ("public_url", "ftp://notes.example.org", "is not an origin"),
        ("public_url", "https://notes.example.org/path", "is not an origin"),
        ("public_url", "https://notes.example.org?", "is not an origin"),
        ("public_url", "https://user@notes.example.org", "is not an origin"),
        ("public_url", "https://notes..org", "is not an origin"),
        ("public_url", "https://127.1", "is not an origin"),
        ("public_url", "https://nötes.example", "is not an origin"),
        ("public_url", "https://notes.example.org:0", "has the port 0"),
        ("public_url", "https://notes.example.org:99999", "has no valid port"),
        ("data_dir", "/dev/null", "is not a folder"),
        ("data_dir", "a\0b", "is not a folder"),
        ("pool_size", "0", "1 or more"),
        ("download_bytes_per_month", "-1", "0 to 9007199254740991"),
        ("download_bytes_per_month", "9007199254740992", "0 to 9007199254740991"),
        ("write_objects_per_month", "10 GB", "0 to 9007199254740991"),
        ("shutdown_timeout", "soon", "give seconds"),
        ("shutdown_timeout", "-1", "give seconds"),
        ("shutdown_timeout", "nan", "give seconds"),
        ("shutdown_timeout", "inf", "give seconds"),
        ("shutdown_timeout", "3601", "from 0 to 3600"),
        ("session_idle_days", "0", "give days from 0.01"),
        ("session_absolute_days", "forever", "give days from 0.01"),
        ("header_timeout", "0", "from 0.1 to 86400"),
        ("idle_timeout", "nan", "from 0.1 to 86400"),
        ("head_size", "1023", "1024 or more"),
        ("head_size", "16k", "give a whole number"),
        ("connections", "0", "1 or more"),
        ("connections", "9999999999", "1 or more"),
        ("log_format", "xml", "give console or json"),
        ("proxy_header", "x-real-ip", "give x-forwarded or forwarded"),
        ("trusted_proxies", "10.0.0.1/8", "addresses or networks"),
        ("trusted_proxies", "proxy.example", "addresses or networks"),
        ("tls_key", "/nowhere/key.pem", "is not a file"),
        ("terms", "/nowhere/terms.md", "is not a file"),
        ("terms", "ftp://example.org/terms", "is not a file"),
        ("terms", "https:///terms", "is not an address"),
        ("terms", "https://user@example.org/terms", "is not an address"),
        ("terms", "https://example.org:x/terms", "is not an address"),
        ("privacy_notice", "https://example.org/our notice", "is not an address"),
        ("privacy_notice", "https://[::1/notice", "is not an address"),
        ("privacy_version", "a\nb", "has a control character"),
        ("registration_policy", "closed", "give invitation or open"),
        ("portal", "https://billing.example.org", "is not a list of pages"),
        ("portal", "Billing=https://billing.example.org", "is not a list of pages"),
        ("portal", "a=https://a.example, a=https://b.example", "is not a list of pages"),
        ("portal", "a=https://a.example,", "is not a list of pages"),
        ("portal", "a=/start", "is not an address"),
        ("portal", "a=https://a.example?x=1&token=", "has a parameter token"),
        ("smtp_host", "smtp://mail.example.org", "is not a host"),
        ("smtp_host", "mail.example.org:25", "is not a host"),
        ("smtp_host", "256.1.1.1", "is not a host"),
        ("smtp_port", "0", "from 1 to 65535"),
        ("smtp_port", "65536", "from 1 to 65535"),
        ("smtp_security", "ssl", "give starttls or tls or none"),
        ("smtp_user", "a\nb", "has a control character"),
        ("mail_from", "notes", "is not a sender"),
        ("mail_from", "Octavo <notes@example.org", "is not a sender"),
        ("mail_from", "<notes@example.org>", "is not a sender"),
        ("mail_from", "a@example.org, b@example.org", "is not a sender"),
        ("mail_from", "A\nB <notes@example.org>", "is not a sender"),
        ("mail_per_address", "0", "1 or more"),
    ],
)
def test_read_refusal_names_source_value_and_remedy(name: str, text: str, says: str) -> None:
    (problem,) = problems_of({variable(name): text})
    assert problem.startswith(f"{variable(name)}={text!r} ")
    assert says in problem
    assert "\n" not in problem
    (of_the_option,) = problems_of({}, {name: text})
    assert of_the_option == problem.replace(variable(name), option(name), 1)
    write(f"{name} = {json.dumps(text)}")
    (of_the_file,) = problems_of({})
    assert of_the_file == problem.replace(variable(name), f"octavo.toml: {name}", 1)


@pytest.mark.parametrize("name", [each.name for each in describe(Settings)])
def test_read_empty_value_is_refused(name: str) -> None:
    (problem,) = problems_of({variable(name): ""})
    assert problem.startswith(f"{variable(name)} is empty: ")


@pytest.mark.parametrize(
    "text",
    [
        "mysql://octavo:hidden@db.example/notes",
        "octavo:hidden@db.example",
        "postgresql://octavo:hid den@db.example/notes",
        "postgresql://octavo:hidden/more@db.example/notes",
        "postgresql://octavo:hidden?more@db.example/notes",
        "postgresql://[octavo:hidden@db.example/notes",
    ],
)
def test_read_refused_database_is_reported_without_the_password(text: str) -> None:
    (problem,) = problems_of({"OCTAVO_DATABASE": text})
    assert problem.startswith(("OCTAVO_DATABASE is not an address", "OCTAVO_DATABASE has an @"))
    assert "hid" not in problem


@pytest.mark.parametrize(
    "text",
    [
        "notes",
        "/srv/notes",
        "s3://",
        "s3:///notes",
        "s3://ab",
        "s3://Notes",
        "s3://octavo:hidden@notes",
        "s3://notes:9000",
        "s3://notes?endpoint=hidden",
        "s3://notes/a//b",
        "s3://notes/../b",
        "s3://notes/a b",
        "s3://notes/%2e",
        "s3://notes\n",
        "S3://notes",
        "https://notes.s3.example.org",
        "file:///srv/notes",
        f"s3://notes/{'a' * 500}",
    ],
)
def test_read_refused_object_store_is_reported_without_its_address(text: str) -> None:
    (problem,) = problems_of({"OCTAVO_OBJECT_STORE": text})
    assert problem.startswith(
        "OCTAVO_OBJECT_STORE is not the address of an object store: give s3://"
    )
    assert "hidden" not in problem


def test_database_shows_its_password_nowhere() -> None:
    settings = read_settings(Settings, {"OCTAVO_DATABASE": DATABASE}).settings
    assert settings.database is not None
    assert settings.database.secret == DATABASE
    assert str(settings.database) == "postgresql://octavo:***@db.example:5432/notes?***"
    dumped = f"{settings.model_dump()!r} {settings.model_dump_json()}"
    assert "hidden" not in f"{settings!r} {settings} {dumped}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("smtp_password", "hidden"),
        ("database", DATABASE),
        ("database", "postgresql://:hidden@db.example/notes"),
        ("database", "postgresql://db.example/notes?sslmode=require&p%61ssword=hidden"),
        ("database", "postgresql:///notes?sslpassword=hidden"),
    ],
)
def test_read_option_with_a_password_is_refused_and_names_where_to_give_it(
    name: str, text: str
) -> None:
    environment = {**MAIL, "OCTAVO_SMTP_USER": "octavo"} if name == "smtp_password" else {}
    (problem,) = problems_of(environment, {name: text})
    assert problem == (
        f"{option(name)} shows a password to every user of this machine: give it in the environment"
        f" variable {variable(name)}, or as {name} in a file that --config names"
    )


@pytest.mark.parametrize(
    "text",
    ["postgresql://octavo@db.example/notes", "postgresql:///notes?host=/run/a:b&user=octavo"],
)
def test_read_option_with_a_database_without_a_password_is_accepted(text: str) -> None:
    assert read_settings(Settings, {}, {"database": text}).settings.database == DatabaseUrl(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [("s3://key:hidden@notes", "object_store"), ("https://ann:hidden@notes.example", "public_url")],
)
def test_read_option_of_another_address_takes_no_password(text: str, name: str) -> None:
    (problem,) = problems_of({}, {name: text})
    assert problem.startswith(option(name))


def test_read_several_wrong_values_names_them_all() -> None:
    write("drian_timeout = 1\nidle_timeout = {}\nwrite_timeout = 0")
    environment = {"OCTAVO_SHUTDOWN_TIMEOUT": "y", "OCTAVO_SHUTDWN_TIMEOUT": "1"}
    problems = problems_of(environment, {"bind": "!"})
    assert [problem.partition("=")[0].partition(" is ")[0] for problem in problems] == [
        "octavo.toml: drian_timeout",
        "octavo.toml: idle_timeout",
        "OCTAVO_SHUTDWN_TIMEOUT",
        "--bind",
        "OCTAVO_SHUTDOWN_TIMEOUT",
        "octavo.toml: write_timeout",
    ]


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        (
            {"OCTAVO_DRAIN_TIMEOUT": "11"},
            "lower OCTAVO_DRAIN_TIMEOUT or raise OCTAVO_SHUTDOWN_TIMEOUT",
        ),
        (
            {"OCTAVO_SESSION_ABSOLUTE_DAYS": "7"},
            "lower OCTAVO_SESSION_IDLE_DAYS or raise OCTAVO_SESSION_ABSOLUTE_DAYS",
        ),
        (
            {"OCTAVO_TLS_CERTIFICATE": __file__},
            "give both OCTAVO_TLS_CERTIFICATE and OCTAVO_TLS_KEY",
        ),
        ({"OCTAVO_TLS_KEY": __file__}, "give both OCTAVO_TLS_CERTIFICATE and OCTAVO_TLS_KEY"),
        ({"OCTAVO_TERMS": "https://example.org/terms"}, "people accept in OCTAVO_TERMS_VERSION"),
        ({"OCTAVO_TERMS_VERSION": "1"}, "OCTAVO_TERMS_VERSION has no document"),
        (LEGAL | {"OCTAVO_TERMS_VERSION": "1"}, "OCTAVO_TERMS is a file, which has its own"),
        (
            MAIL | {"OCTAVO_REGISTRATION_POLICY": "open", "OCTAVO_TERMS": __file__},
            "terms and a privacy notice: give OCTAVO_PRIVACY_NOTICE, or leave out",
        ),
        (
            LEGAL | {"OCTAVO_REGISTRATION_POLICY": "open"},
            "give OCTAVO_SMTP_HOST, or leave out OCTAVO_REGISTRATION_POLICY",
        ),
        ({"OCTAVO_SMTP_HOST": "mail.example.org"}, "give both OCTAVO_SMTP_HOST and OCTAVO_MAIL_"),
        ({"OCTAVO_MAIL_FROM": "notes@example.org"}, "give both OCTAVO_SMTP_HOST and OCTAVO_MAIL_"),
        (MAIL | {"OCTAVO_SMTP_USER": "octavo"}, "give both OCTAVO_SMTP_USER and OCTAVO_SMTP_PASS"),
        (MAIL | {"OCTAVO_SMTP_PASSWORD": "x"}, "give both OCTAVO_SMTP_USER and OCTAVO_SMTP_PASS"),
        (MAIL_CREDENTIALS, "OCTAVO_SMTP_USER has no mail server: give OCTAVO_SMTP_HOST"),
        (
            MAIL | MAIL_CREDENTIALS | {"OCTAVO_SMTP_SECURITY": "none"},
            "would be sent unencrypted: set OCTAVO_SMTP_SECURITY to starttls or tls",
        ),
    ],
)
def test_read_contradictory_settings_are_refused(environment: dict[str, str], says: str) -> None:
    (problem,) = problems_of(environment)
    assert says in problem


@pytest.mark.parametrize(("former", "present"), RENAMED.items())
def test_renamed_setting_is_refused_with_its_present_name(former: str, present: str) -> None:
    former, present = variable(former), variable(present)
    assert problems_of({former: "1"}) == (f"{former} is not a setting: its name is {present} now",)


def test_session_may_end_after_the_same_days_whether_it_is_used_or_not() -> None:
    environment = {"OCTAVO_SESSION_IDLE_DAYS": "7", "OCTAVO_SESSION_ABSOLUTE_DAYS": "7"}
    settings = read_settings(Settings, environment).settings
    assert settings.session_idle_days == settings.session_absolute_days == 7


def test_open_registration_is_accepted_with_mail_and_legal_documents() -> None:
    settings = read_settings(
        Settings, MAIL | LEGAL | {"OCTAVO_REGISTRATION_POLICY": "open"}
    ).settings
    assert settings.registration_policy == "open"
    assert (settings.terms, settings.privacy_version) == (__file__, "2026-05")


@pytest.mark.parametrize(("security", "port"), [("starttls", 587), ("tls", 465), ("none", 25)])
def test_smtp_port_defaults_to_that_of_the_security(security: str, port: int) -> None:
    assert (
        read_settings(Settings, MAIL | {"OCTAVO_SMTP_SECURITY": security}).settings.smtp_port
        == port
    )


def test_smtp_password_may_be_sent_unencrypted_to_this_machine() -> None:
    given = MAIL_CREDENTIALS | {"OCTAVO_SMTP_HOST": "127.0.0.1", "OCTAVO_SMTP_SECURITY": "none"}
    settings = read_settings(Settings, MAIL | given).settings
    assert settings.smtp_password is not None
    assert settings.smtp_password.get_secret_value() == "hidden"


def test_smtp_password_is_shown_nowhere() -> None:
    settings = read_settings(Settings, MAIL | MAIL_CREDENTIALS).settings
    dumped = f"{settings.model_dump()!r} {settings.model_dump_json()}"
    assert "hidden" not in f"{settings!r} {settings} {dumped} {plain(settings.smtp_password)}"
    (problem,) = problems_of(MAIL | MAIL_CREDENTIALS | {"OCTAVO_SMTP_PASSWORD": "hid\nden"})
    assert problem.startswith("OCTAVO_SMTP_PASSWORD has a control character")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OCTAVO_BNID", "OCTAVO_BIND"),
        ("OCTAVO_SHUTDWN_TIMEOUT", "OCTAVO_SHUTDOWN_TIMEOUT"),
        ("OCTAVO_CONFG", "OCTAVO_CONFIG"),
        ("OCTAVO_HOST", "OCTAVO_BIND"),
        ("OCTAVO_PORT", "OCTAVO_BIND"),
        ("OCTAVO_DATABASE_URL", "OCTAVO_DATABASE"),
        ("OCTAVO_URL", "OCTAVO_PUBLIC_URL"),
        ("OCTAVO_BUCKET", "OCTAVO_OBJECT_STORE"),
        ("OCTAVO_shutdown_timeout", "OCTAVO_SHUTDOWN_TIMEOUT"),
    ],
)
def test_read_misspelled_variable_is_named_and_its_value_is_not(name: str, meant: str) -> None:
    assert problems_of({name: "hidden"}) == (f"{name} is not a setting: did you mean {meant}?",)


@pytest.mark.parametrize(
    "name",
    [
        "HTTP2",
        "HTTP2_STREAMS",
        "HTTP2_STREAMS_PER_CLIENT",
        "HTTP2_CONNECTIONS_PER_CLIENT",
        "HTTP2_REQUESTS_PER_SECOND",
        "HTTP2_REQUESTS_PER_SECOND_PER_CLIENT",
    ],
)
def test_read_setting_of_http2_is_refused_with_what_speaks_it_now(name: str) -> None:
    key = name.lower()
    write(f"{key} = 1")
    assert problems_of({f"OCTAVO_{name}": "1"}) == tuple(
        f"{said} is not a setting: leave it out; Octavo speaks HTTP/1.1, and HTTP/2 is the work of"
        " a proxy"
        for said in (f"octavo.toml: {key}", f"OCTAVO_{name}")
    )


@pytest.mark.parametrize(
    "name",
    [
        "OCTAVO_PORT",
        "OCTAVO_SERVICE_HOST",
        "OCTAVO_SERVICE_PORT",
        "OCTAVO_PORT_8080_TCP_PROTO",
        "PORT",
    ],
)
def test_read_foreign_variables_are_ignored(name: str) -> None:
    assert read_settings(Settings, {name: "tcp://10.0.0.7:8080"}).settings == Settings()


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        (
            "shutdown_timeoutt = 1",
            "shutdown_timeoutt is not a setting: did you mean shutdown_timeout?",
        ),
        ("port = 1", "port is not a setting: did you mean bind?"),
        ("public-url = 1", "public-url is not a setting: did you mean public_url?"),
        ("colour = 1", "colour is not a setting: `octavo serve --help` lists the settings"),
        ("[server]\nport = 1", "server is not a setting: `octavo serve --help` lists the settings"),
        (
            "shutdown_timeout = {}",
            "shutdown_timeout is not a value: give text in quotes, or a number",
        ),
        (
            "shutdown_timeout = 2026-11-21",
            "shutdown_timeout is not a value: give text in quotes, or a number",
        ),
        (
            "trusted_proxies = []",
            "trusted_proxies is not a value: give text in quotes, or a number",
        ),
        (
            "shutdown_timeout = true",
            "shutdown_timeout='true' is not a time: give seconds from 0 to 3600",
        ),
    ],
)
def test_read_unusable_key_of_the_file_is_refused(toml: str, says: str) -> None:
    write(toml)
    (problem,) = problems_of({})
    assert problem.startswith(f"octavo.toml: {says}")


def test_read_file_that_is_not_toml_is_refused_with_the_line() -> None:
    write("shutdown_timeout = 1\nshutdown_timeout\n")
    (problem,) = problems_of({})
    assert problem.startswith("octavo.toml is not TOML: ")
    assert "line 2" in problem


def test_read_file_that_is_not_text_is_refused() -> None:
    Path("octavo.toml").write_bytes(b"shutdown_timeout = '\xff'")
    (problem,) = problems_of({})
    assert problem.startswith("octavo.toml is not TOML: ")


def test_read_missing_named_file_is_refused() -> None:
    reason = "can't be read: No such file or directory: give the path of a TOML file"
    assert problems_of({"OCTAVO_CONFIG": "no.toml"}) == (f"OCTAVO_CONFIG='no.toml' {reason}",)
    assert problems_of({}, config="no.toml") == (f"--config='no.toml' {reason}",)


def test_read_file_that_is_a_folder_is_refused() -> None:
    Path("octavo.toml").mkdir()
    (problem,) = problems_of({})
    assert problem.startswith("octavo.toml: the file of settings can't be read: Is a directory")


def test_read_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    write('data_dir = "~/notes"')
    assert read_settings(Settings, {}).settings.data_dir == Path("/home/ada/notes")


@given(st.text())
def test_read_any_text_is_accepted_or_refused_and_never_crashes(text: str) -> None:
    names = [each.name for each in describe(Settings)]
    try:
        settings = read_settings(Settings, {}, dict.fromkeys(names, text)).settings
    except SettingsError:
        return
    assert settings.drain_timeout <= settings.shutdown_timeout


@given(st.from_regex(r"[a-z0-9.:\[\]-]{1,20}", fullmatch=True))
def test_accepted_bind_round_trips(text: str) -> None:
    try:
        bind = Bind.parse(text)
    except ValueError:
        return
    assert Bind.parse(str(bind)) == bind


@given(st.from_regex(r"https?://[a-zA-Z0-9.:\[\]-]{1,20}/?", fullmatch=True))
def test_accepted_origin_is_its_own_origin(text: str) -> None:
    try:
        normal = origin(text)
    except ValueError:
        return
    assert (origin(normal), normal.lower()) == (normal, normal)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1),
    st.sampled_from(["postgresql://u:{}@h/d", "postgresql://u@h/d?password={}"]),
)
def test_accepted_database_hides_its_secret(secret: str, shape: str) -> None:
    try:
        database = DatabaseUrl.parse(shape.format(f"<{secret}>"))
    except ValueError:
        return
    assert f"<{secret}" not in str(database)


def test_describe_names_every_setting_once_with_its_meaning() -> None:
    described = list(describe(Settings))
    assert sorted(each.name for each in described) == sorted(Settings.model_fields)
    assert all(each.meaning for each in described)


def test_groups_of_settings_are_described_in_their_order() -> None:
    names, groups = Settings.names(), Settings.groups.split()
    assert [name for name in names if name in groups] == groups
    assert names[names.index("log_format") + 1] == "session_idle_days"


def test_section_without_a_group_follows_the_one_before_it() -> None:
    class Extended(Settings):
        shelves: int = Field(default=3, description="maximum number of shelves")

    names = Extended.names()
    assert names[names.index("mcp_refresh_days") + 1] == "shelves"
    assert [name for name in names if name != "shelves"] == Settings.names()


@pytest.mark.parametrize(
    ("value", "in_json", "in_words"),
    [
        (None, None, ""),
        ("", None, ""),
        ((), None, ""),
        (10.0, 10.0, "10"),
        (7, 7, "7"),
        (Bind("::1", 1), "[::1]:1", "[::1]:1"),
        (Path("a"), "a", "a"),
        (
            (ip_network("::1"), ip_network("10.0.0.0/8")),
            ["::1/128", "10.0.0.0/8"],
            "::1/128, 10.0.0.0/8",
        ),
        (DatabaseUrl(DATABASE), str(DatabaseUrl(DATABASE)), str(DatabaseUrl(DATABASE))),
    ],
)
def test_value_is_formatted_for_programs_and_for_people(
    value: object, in_json: object, in_words: str
) -> None:
    assert (plain(value), shown(plain(value))) == (in_json, in_words)


def test_names_of_settings_are_words_of_the_environment_and_the_command_line() -> None:
    names: Iterable[str] = (each.variable for each in describe(Settings))
    assert all(name.startswith("OCTAVO_") and name.isupper() for name in names)
    assert option("public_url") == "--public-url"
