"""What is answered when something was removed."""

from typing import Literal

from octavo.http.contract_model import ContractModel


class Removed(ContractModel):
    """It is gone."""

    removed: Literal[True] = True


REMOVED = Removed()
