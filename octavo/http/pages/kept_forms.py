"""Keep what a person sent: the text of a form that can't be saved now, and the response to a form.

The text can be sent again, or copied, when the session has ended, the person may not write any
more, or the service is not available.

Each form contains a value of its own. The first submission with it is performed, and a second one
within a minute gets the same response, after a double click or a reload. So no key or workspace is
created twice, and a secret that is shown once is not lost.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar
from urllib.parse import quote

import trio
from octavo_rules.problems import ConsentRequired, Problem
from quart import Response, request

from octavo.http.pages.forms import Form
from octavo.http.pages.responses import CONSENT, FormErrors, show
from octavo.model.files.path import name_of

T = TypeVar("T")

REMEMBERED_SECONDS = 60.0
"""Seconds for which a response is kept."""
LOOK_SECONDS = 10.0
"""Seconds between two looks for responses that have been kept for long enough."""
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of all responses that are kept."""


class _Submission(Generic[T]):
    def __init__(self) -> None:
        self.done = trio.Event()
        self.until = trio.current_time() + REMEMBERED_SECONDS
        self.response: T | None = None
        self.size = 0


class Resubmissions(Generic[T]):
    """The responses of recent submissions.

    Args:
        maximum: the number of responses that are kept; the oldest are dropped.
        most_bytes: the size of all responses that are kept; the oldest are dropped.
        size_of: returns the size of a response in bytes.
    """

    def __init__(
        self,
        maximum: int = 1000,
        most_bytes: int = MOST_BYTES,
        size_of: Callable[[T], int] = lambda _: 0,
    ) -> None:
        self._maximum = maximum
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._bytes = 0
        self._submissions: OrderedDict[str, _Submission[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._submissions)

    async def respond(
        self, key: str, perform: Callable[[], Awaitable[T]], *, keeps: Callable[[T], bool]
    ) -> T:
        """Return the response to the submission with ``key``: that of ``perform``, or the kept one.

        A response is kept if ``keeps`` returns True. A submission that fails, or is cancelled, is
        forgotten, and the next one with its key is performed.
        """
        while True:
            self._drop_old()
            known = self._submissions.get(key)
            if known is None:
                break
            await known.done.wait()
            if known.response is not None:
                return known.response
        self._submissions[key] = submission = _Submission[T]()
        try:
            response = await perform()
            if keeps(response):
                submission.response = response
                if self._submissions.get(key) is submission:
                    submission.size = self._size_of(response)
                    self._bytes += submission.size
                    self._drop_old()
            return response
        finally:
            if submission.response is None and self._submissions.get(key) is submission:
                del self._submissions[key]
            submission.done.set()

    async def run(self) -> None:
        """Drop the responses that have been kept for long enough, until cancelled."""
        while True:
            await trio.sleep(LOOK_SECONDS)
            self._drop_old()

    def _drop_old(self) -> None:
        """Drop the responses that have been kept for long enough, and the oldest of too many."""
        now = trio.current_time()
        while self._submissions:
            oldest = next(iter(self._submissions.values()))
            few = len(self._submissions) <= self._maximum and self._bytes <= self._most_bytes
            if few and oldest.until > now:
                return
            self._submissions.popitem(last=False)
            self._bytes -= oldest.size


STAMP = "stamp"
"""The parameter with the stamp in the address of a form with a long text."""
AGAIN = "/sign-in/again"
PREFIX = "kept-"
"""The prefix of the names of the fields of a kept form."""
LOST = "image-lost"
"""The field of a form that came with an image, which can't be kept."""
_OWN = frozenset({"token-of-form", "once"})


async def sign_in_again(
    fields: Mapping[str, str],
    following: str,
    *,
    address: str = "",
    trouble: FormErrors | None = None,
) -> Response:
    """Return the page on which a person signs in again; it has the fields of the form.

    ``following`` is the path that the form was sent to.
    """
    stamp = request.args.get(STAMP, "")
    return await show(
        "sign_in_again.html",
        trouble=trouble,
        status=401,
        kept=fields,
        following=following,
        address=address,
        action=f"{AGAIN}?{STAMP}={quote(stamp)}" if stamp else AGAIN,
    )


async def go_on(fields: Mapping[str, str], following: str, token: str) -> Response:
    """Return the page that sends the form again, for the session with the value ``token``."""
    name = name_of(fields.get("path", ""))
    return await show("go_on.html", kept=fields, following=following, token=token, name=name)


async def not_saved(
    fields: Mapping[str, str], following: str, token: str, problem: Problem
) -> Response:
    """Return the page that says why a form was not saved, and has its text."""
    remedy = "You can try again, or copy your text."
    if isinstance(problem, ConsentRequired):
        remedy = "Read and accept them in another window, then come back here and try again."
    return await show(
        "not_saved.html",
        trouble=FormErrors(
            problem.status, problem.detail, headers=problem.headers, code=problem.code
        ),
        kept=fields,
        following=following,
        token=token,
        remedy=remedy,
        terms=CONSENT if isinstance(problem, ConsentRequired) else None,
    )


def fields_to_keep(form: Form) -> dict[str, str]:
    """Return the fields of a form that is to be sent again, and saves its text then.

    An image has to be chosen again.
    """
    fields = {name: value for name, value in form.fields.items() if name not in _OWN}
    if fields.get("action") == "image":
        fields["action"] = "save"
    if any(file.name for file in form.files.values()):
        fields[LOST] = "on"
    return fields


def kept_fields(sent: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a kept form from those of the page that keeps it."""
    fields = {
        name.removeprefix(PREFIX): value for name, value in sent.items() if name.startswith(PREFIX)
    }
    return {name: value for name, value in fields.items() if name not in _OWN}
