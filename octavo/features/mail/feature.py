"""The parts of the service that send mail."""

from dataclasses import dataclass

from greenroom import WorkerContext, WorkerSpec

from octavo.actors.jobs.housekeeping import removal
from octavo.features.mail import sql
from octavo.features.mail.delivery import MailDelivery
from octavo.features.mail.sending import mail_delivery
from octavo.features.mail.settings import MailSettings
from octavo.kernel import FLUSH_SECONDS, Feature, Kernel, Parts

FEATURE = Feature("mail", retention=lambda _: [removal(sql.expire_budgets)])


@dataclass(frozen=True)
class Mail:
    """What sends the messages of other features.

    Attributes:
        sends: whether there is a mail server; without one messages are dropped.
    """

    parts: Parts
    delivery: MailDelivery
    sends: bool


def mail_feature(kernel: Kernel, settings: MailSettings) -> Mail:
    """Return the feature; nothing runs yet."""
    delivery = mail_delivery(kernel.store, settings)

    async def deliver(context: WorkerContext) -> None:
        await delivery.run(context.stopping, alone=not kernel.shared)

    parts = Parts(workers=[WorkerSpec("mail", deliver, drain_timeout=FLUSH_SECONDS)])
    return Mail(parts, delivery, sends=bool(settings.smtp_host))
