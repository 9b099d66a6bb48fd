"""Record the consent of accounts to the legal documents."""

from octavo_rules.identity import AccountId

from octavo.model.access.account import AccountGone, Consent, Versions
from octavo.store.transaction import Row, Script, Transaction, Value

COLUMNS = "accounts.consent_terms, accounts.consent_privacy, accounts.consent_at"
COUNT = 3


def record(account_id: AccountId, consent: Consent) -> Script[None]:
    """Replace the consent of an account. Raises `AccountGone`."""

    async def replace_consent(transaction: Transaction) -> None:
        recorded = await transaction.execute(
            "UPDATE accounts SET consent_terms = $2, consent_privacy = $3, consent_at = $4"
            " WHERE id = $1::uuid AND state <> 'disabled'",
            account_id,
            *columns_of(consent),
        )
        if recorded != 1:
            raise AccountGone

    return replace_consent


def consent_of(row: Row) -> Consent | None:
    """Return the consent in a row of `COLUMNS`; None without one."""
    terms, privacy, accepted_at = row
    return None if accepted_at is None else Consent(Versions(terms, privacy), accepted_at)


def columns_of(consent: Consent | None) -> tuple[Value, Value, Value]:
    """Return the values of the columns of a consent, in the order of `COLUMNS`."""
    if consent is None:
        return None, None, None
    return consent.versions.terms, consent.versions.privacy, consent.accepted_at
