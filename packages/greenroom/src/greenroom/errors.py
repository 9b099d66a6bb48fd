"""The errors of the core, arranged by one question: is it safe to repeat the ask?

::

    Refusal                      the handler's own negative reply; the actor keeps running
    ActorError
    ├── NotExecuted              the message had no effect; repeating it is safe
    │   ├── MailboxFull          no free slot within the admission timeout
    │   ├── ActorStopped         stopped, stopping, or not started yet
    │   ├── ActorQuarantined     the key crashed too often; carries a retry delay
    │   ├── AskCycle             the ask could only have ended in a deadlock
    │   └── InvalidActor         the factory returns no usable actor (not restarted)
    ├── OutcomeUnknown           the actor took the message; it may have had an effect
    │   └── ActorCrashed         the handler failed; ``__cause__`` is its error
    ├── MessageTypeError         the actor's class does not handle this type of message
    ├── ActorNotFound            no actor has this path
    ├── BadReply                 a handler broke the rules of replying (a crash)
    ├── StartTimeout             a child was not ready in time (a crash)
    └── RestartIntensityExceeded a supervisor gave up and escalates

If a handler asks another actor and lets the error escape, the handler itself has crashed, and its
own caller gets `ActorCrashed`. A `Refusal` that escapes is passed on as the handler's own refusal.

trio wraps even a single error of a nursery in an exception group. At the boundary of an actor a
group with one error becomes that error (`unwrap`); a group with several errors stays a group.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

# These stop tasks and programs; they report no bug.
_CONTROL_FLOW = (trio.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)


class Refusal(Exception):
    """Base class of the negative replies that a handler gives by raising.

    The asker gets the refusal itself; the actor keeps running. What a refusal says about the
    change is up to the application; usually, that nothing changed.
    """


class ActorError(Exception):
    """Base class of the errors that the core itself raises."""


class NotExecuted(ActorError):
    """The actor never took the message and never will.

    The message had no effect; repeating the ask is safe.
    """


class MailboxFull(NotExecuted):
    """The mailbox had no free slot within the admission timeout; the load is shed."""


class ActorStopped(NotExecuted):
    """The actor is stopped, is stopping, or has not been started."""


class ActorQuarantined(NotExecuted):
    """The virtual actor crashed too often and is quarantined; other keys are unaffected.

    Attributes:
        retry_after: seconds after which the next message is admitted as a probe.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        """Take the text, and the seconds that remain."""
        super().__init__(message)
        self.retry_after = retry_after


class AskCycle(NotExecuted):
    """The ask would close a cycle of actors that wait for each other.

    Also raised when an actor asks itself. The text names the actors of the cycle.
    """


class InvalidActor(NotExecuted, TypeError):
    """The factory returned something that is not a usable actor.

    It is not an `Actor`, or it does not define exactly one of the two handlers. Calling the factory
    again would not help, so the restart policy does not apply: supervisors stop and raise this.
    """


class OutcomeUnknown(ActorError):
    """The actor took the message, and its outcome is not known.

    The change may have happened. Repeat the ask only if the message is idempotent, for example
    because it carries an identifier that the actor records.
    """


class ActorCrashed(OutcomeUnknown):
    """The actor crashed while it handled this message; the change may have happened.

    The original error is the ``__cause__``. The message is not delivered again.
    """


class MessageTypeError(ActorError, TypeError):
    """The actor's class does not handle messages of this type; the message was not sent.

    The text names the actor's class, the message's class and the types that the actor handles.
    """


class ActorNotFound(ActorError, LookupError):
    """No actor has this path; the text lists what is there."""


class BadReply(ActorError):
    """A handler replied to a tell, or left an ask of its batch without a reply."""


class StartTimeout(ActorError):
    """A child did not report readiness within its ``start_timeout``."""


class RestartIntensityExceeded(ActorError):
    """There were more restarts than the supervisor's intensity allows.

    The error of the last crash is the ``__cause__``. The supervisor has stopped its children; the
    supervisor above it, or the program, decides what happens next.
    """


def stopped(owner: object, detail: str = "is stopped") -> Callable[[], ActorStopped]:
    """Return a function that makes `ActorStopped` errors about ``owner``."""
    return lambda: ActorStopped(f"{owner} {detail}; the message was not executed")


def is_crash(error: BaseException) -> bool:
    """Return whether ``error`` is a failure and contains no cancellation or interrupt.

    A ``BaseException`` that is neither (some extension modules raise such errors) is a crash: it
    concerns one actor and must not tear down its siblings.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_crash(inner) for inner in error.exceptions)
    return not isinstance(error, _CONTROL_FLOW)


def unwrap(error: BaseException) -> BaseException:
    """Return the one error inside nested groups of one, or ``error`` itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
