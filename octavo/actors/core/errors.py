"""What an ask can raise, as a tree that answers one question: may I repeat it?

::

    Refusal                      the handler's own "no": an answer, not a failure
    ActorError
    ├── NotExecuted              the message did nothing; repeating it is safe
    │   ├── MailboxFull          no place came free within the admission deadline
    │   ├── ActorStopped         stopped, stopping, or not started yet
    │   ├── ActorQuarantined     the key crashed too often; says when to come back
    │   └── AskCycle             the ask could only have ended in a deadlock
    ├── OutcomeUnknown           taken: the change may have happened
    │   └── ActorCrashed         the handler failed; ``__cause__`` is its error
    ├── BadReply                 a handler broke the rules of answering (a crash)
    ├── StartTimeout             a child did not get ready in time (a crash)
    └── RestartIntensityExceeded a supervisor gave up and escalates

A failure of an actor that *another* actor asked is no refusal and no
``NotExecuted`` of its own caller: if a handler lets it escape, that handler
has crashed, and its caller is told so.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

# What must always travel on: it stops tasks and programs, it reports no bug.
_TRAVELS_ON = (trio.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)


class Refusal(Exception):
    """Base of the negative answers a handler gives by raising.

    A refusal travels to the asker as it is; the actor lives on. What it says
    about the change is the application's to define; the usual meaning is that
    nothing changed.
    """


class ActorError(Exception):
    """Base of what the concurrency core itself raises."""


class NotExecuted(ActorError):
    """The message was never taken by its actor and never will be.

    Nothing happened; repeating the ask is safe.
    """


class MailboxFull(NotExecuted):
    """The mailbox had no place within the admission deadline: load is shed."""


class ActorStopped(NotExecuted):
    """The actor is stopped, is stopping, or has not been started."""


class ActorQuarantined(NotExecuted):
    """The virtual actor crashed too often and rests; others are untouched.

    Attributes:
        retry_after: seconds after which the next message is let in as a probe.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        """Say which key rests, and for how many more seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class AskCycle(NotExecuted):
    """The ask would close a circle of actors that wait for each other.

    Also raised for an actor that asks itself. The message names the circle.
    """


class OutcomeUnknown(ActorError):
    """The message was taken, and its outcome was not learned.

    The change may have happened. Repeat it only if the message is idempotent
    (for instance by an identity that the actor remembers).
    """


class ActorCrashed(OutcomeUnknown):
    """The handler of this very message failed; the change may have happened.

    The original error is ``__cause__``. The message is not delivered again.
    """


class BadReply(ActorError):
    """A handler answered a tell, or left an ask of its batch unanswered."""


class StartTimeout(ActorError):
    """A child did not report readiness within its ``start_timeout``."""


class RestartIntensityExceeded(ActorError):
    """More restarts than the supervisor's intensity allows.

    The error of the last crash is ``__cause__``. The supervisor has stopped its
    children; its own supervisor, or the program, decides what comes next.
    """


def stopped(owner: object, detail: str = "is stopped") -> Callable[[], ActorStopped]:
    """A maker of `ActorStopped` errors about ``owner``."""
    return lambda: ActorStopped(f"{owner} {detail}; the message was not executed")


def is_crash(error: BaseException) -> bool:
    """Whether ``error`` is a failure, with no cancellation or interrupt in it.

    A ``BaseException`` that is neither (some extension modules raise such) is
    a crash: it concerns one actor and must not tear down its siblings.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_crash(inner) for inner in error.exceptions)
    return not isinstance(error, _TRAVELS_ON)


def unwrap(error: BaseException) -> BaseException:
    """The one error inside nested groups of one; a group of several as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
