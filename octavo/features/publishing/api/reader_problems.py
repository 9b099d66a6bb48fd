"""What readers of published links are told when a request is refused, in words for people."""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from octavo_rules.problems import Problem

from octavo.features.publishing.views import PublishedPages
from octavo.http import contract
from octavo.http.refusals import wait_of

_WORDS: Mapping[int, tuple[str, str]] = {
    HTTPStatus.REQUEST_TIMEOUT: (
        "That took too long",
        "The form did not arrive completely, and nothing was done. Send it again.",
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "That is too long",
        (
            "What you sent is longer than this form takes, and nothing was done. Shorten it, and "
            "send it again."
        ),
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        "Something went wrong",
        (
            "This is a fault of the service, and the people who run it can find it in their log. "
            "Try again later."
        ),
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "Try again soon",
        "The service is busy for the moment. Wait a few seconds, and open the page again.",
    ),
}
# What to do about a part of a form, where its form says it better than its type.
_ADVICE: Mapping[str, str] = {
    "/reason": "Choose what is wrong with the page: go back, and send the form again.",
}


def reader_problems(pages: Callable[[], PublishedPages | None]) -> contract.ProblemHtml:
    """Return the function that shows problems to readers; ``pages`` returns None before it can."""

    def html_of(problem: Problem, request_id: str) -> bytes | None:
        made = pages()
        if made is None:
            return None
        title, detail = _words(problem)
        return made.refused(title, detail, request_id).encode()

    return html_of


def _words(problem: Problem) -> tuple[str, str]:
    if problem.status == HTTPStatus.TOO_MANY_REQUESTS:
        return "Too many attempts", f"Nothing was done this time. Try again {wait_of(problem)}."
    if problem.status == HTTPStatus.NOT_FOUND:
        return "Page not found", problem.detail
    known = _WORDS.get(problem.status)
    if known is not None:
        return known
    return "That did not work", _messages(problem) or problem.detail


def _messages(problem: Problem) -> str:
    """Return what a problem says of the parts of the request."""
    errors = problem.members.get("errors")
    if not isinstance(errors, list):
        return ""
    return " ".join(
        _ADVICE.get(str(error.get("pointer", "")), str(error.get("message", "")))
        for error in errors
        if isinstance(error, dict)
    )
