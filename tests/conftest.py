"""What holds for every test."""

import hypothesis

# A busy machine makes an example slow, not wrong.
hypothesis.settings.register_profile("octavo", deadline=None)
hypothesis.settings.load_profile("octavo")
