"""The kinds of request bodies, limited as they arrive, and their problems.

An operation declares a kind; the pipeline calls its `BodyKind.read`.
"""
