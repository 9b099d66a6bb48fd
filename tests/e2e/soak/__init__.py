"""A soak: a mixed load for a while, then everything is deleted; what stays is measured."""
