"""The range of the paths below a folder, for statements that compare paths by code points."""

# The slash of paths sorts immediately before it.
_AFTER_SLASH = "0"
_LAST = "\U0010ffff"


def below(folder: str) -> tuple[str, str]:
    """Return the first path that may be below ``folder``, and the first one after those.

    Every path is below the empty folder.
    """
    return (f"{folder}/", folder + _AFTER_SLASH) if folder else ("", _LAST)
