"""A contract of import-linter: each feature imports the features before it in their list."""

import re
from pathlib import Path
from typing import Any

from importlinter.contracts.layers import LayersContract

LIST = Path(__file__).parent.parent / "octavo" / "service" / "features.py"


def features() -> list[str]:
    """Return the names of the features, in the order of their list."""
    found = re.findall(r"^    (\w+)\.FEATURE,$", LIST.read_text(), re.MULTILINE)
    if not found:
        raise ValueError(f"there is no list of features in {LIST}")
    return found


class FeatureOrderContract(LayersContract):
    """As a contract of layers: the features are those of the list, the last one on top."""

    type_name = "feature_order"

    def __init__(self, name: str, session_options: Any, contract_options: Any) -> None:  # noqa: ANN401
        options = {
            **contract_options,
            "containers": ["octavo.features"],
            "layers": [*reversed(features())],
            "exhaustive": "true",
        }
        super().__init__(name, session_options, options)
