"""Settings of every test."""

import hypothesis

from tests.fakes import readable_ids

readable_ids.install()

# A busy machine makes an example slow, not wrong.
hypothesis.settings.register_profile("octavo", deadline=None)
hypothesis.settings.load_profile("octavo")
