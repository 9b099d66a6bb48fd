"""The error of the private hooks into trio."""

import trio


class UnsupportedTrio(RuntimeError):
    """The installed trio lacks something that the hook needs; the text names it."""

    def __init__(self, missing: str) -> None:
        super().__init__(f"trio {trio.__version__} can't be scheduled from outside: {missing}")
