"""The stamps in the addresses of forms with a long text: see `octavo.model.access.form_stamp`."""

from collections.abc import Awaitable, Callable

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.ports import Clock, milliseconds
from octavo.http.refusals import failures_as_problems
from octavo.model.access.form_stamp import FormStamp, signed_stamp, valid_stamp

FormSecret = Callable[[], Awaitable[bytes]]
"""Returns the secret of the installation by which stamps are signed. Raises `StoreUnavailable`."""


class FormStamps:
    """Makes and reads stamps.

    Args:
        secret: returns the secret.
        now: the clock, in seconds of Unix time.
        session_seconds: the longest life of a session.
    """

    def __init__(self, secret: FormSecret, *, now: Clock, session_seconds: float) -> None:
        self._get_secret = secret
        self._now = now
        self._session_seconds = session_seconds
        self._secret: bytes | None = None

    async def load(self) -> bytes:
        """Return the secret, read once. Raises the problem of a database that is away."""
        if self._secret is None:
            with failures_as_problems():
                self._secret = await self._get_secret()
        return self._secret

    @property
    def loaded(self) -> bool:
        """Whether stamps can be made."""
        return self._secret is not None

    def stamp(self, account_id: str, workspace_id: str) -> str:
        """Return a stamp for a form that is made now. The secret must have been loaded."""
        assert self._secret is not None
        made_at = milliseconds(self._now())
        stamp = FormStamp(AccountId(account_id), WorkspaceId(workspace_id), made_at)
        return signed_stamp(stamp, self._secret)

    async def read(self, text: str) -> FormStamp | None:
        """Return a valid stamp; None for anything else. Raises the same errors as `load`."""
        now = milliseconds(self._now())
        return valid_stamp(text, await self.load(), now, self._session_seconds)
