"""Each service that is broken on purpose is caught, so the simulations test what they claim to."""

import pytest
from greenroom.testing.plugin import Explore

from tests.simulation.variants import VARIANTS, Variant


@pytest.mark.parametrize(
    "variant", [pytest.param(each, id=each.name) for each in VARIANTS.values()]
)
def test_broken_service_is_caught(variant: Variant, explore: Explore) -> None:
    caught = variant.search(explore, variant.simulation.most, variant.seed)
    assert f"--replay-schedule={caught.token}" in caught.command
