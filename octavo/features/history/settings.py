"""The settings of the history."""

from collections.abc import Iterator

from pydantic import Field

from octavo.settings import KernelSettings
from octavo.settings.names import variable
from octavo.settings.values import Days, Positive


class HistorySettings(KernelSettings):
    """Which revisions are kept."""

    history_all_days: Days = Field(
        default=30.0, description="days for which every revision of a file is kept"
    )
    history_hourly_days: Days = Field(
        default=90.0,
        description="days for which the last revision of each hour is kept; of older revisions, "
        "the last of each day is kept",
    )
    history_min_revisions: Positive = Field(
        default=20, description="number of newest revisions of a file that are kept at any age"
    )

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        yield from super().contradictions()
        if self.history_all_days > self.history_hourly_days:
            yield (
                f"every revision is kept for more days ({self.history_all_days:g}) than hourly ones"
                f" ({self.history_hourly_days:g}): lower"
                f" {variable('history_all_days')} or raise {variable('history_hourly_days')}"
            )
