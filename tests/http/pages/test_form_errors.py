"""What a page says of a refusal."""

import pytest
from octavo_rules.problems import Forbidden, InvalidRequest, RateLimited

from octavo.http.pages.responses import form_errors_of
from octavo.model.access.account import PasswordQueueFull


def test_errors_belong_to_fields() -> None:
    problem = InvalidRequest(errors=[("/name", "Too long."), ("/controls/storageBytes", "No.")])
    trouble = form_errors_of(problem, {"storageBytes": "storage"})
    assert (trouble.status, trouble.text) == (400, "")
    assert trouble.fields == {"name": "Too long.", "storage": "No."}


def test_refusal_without_fields_is_said_of_the_form() -> None:
    assert form_errors_of(Forbidden("Not you.")).text == "Not you."


def test_full_queue_of_passwords_is_not_blamed_on_the_person() -> None:
    expected = "The server is checking many other passwords at the moment."
    assert form_errors_of(PasswordQueueFull(2)).text == f"{expected} Try again in a few seconds."


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1, "in a few seconds"),
        (10, "in a few seconds"),
        (11, "in 20 seconds"),
        (29, "in 30 seconds"),
        (50, "in 50 seconds"),
        (51, "in a minute"),
        (60, "in a minute"),
        (61, "in 2 minutes"),
    ],
)
def test_too_many_attempts_name_the_wait(seconds: int, expected: str) -> None:
    trouble = form_errors_of(RateLimited(retry_after=seconds))
    assert trouble.text == f"There were too many attempts. Try again {expected}."
    assert trouble.headers == ((b"retry-after", b"%d" % seconds),)
