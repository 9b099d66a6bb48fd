"""The fixture of the tests of usage: a database and a clock."""

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from tests.fakes.stores import open_inline
from tests.fakes.usage_rig import UsageRig, usage_rig


@pytest.fixture
async def rig() -> AsyncIterator[UsageRig]:
    with closing(open_inline()) as store:
        made = usage_rig(store)
        await made.account()
        yield made
