"""A demonstration on real input: two devices edit one vault through the public API alone."""
