"""``python -m octavo``: the same command line as the ``octavo`` script."""

import sys

from octavo.cli import main

if __name__ == "__main__":
    sys.exit(main())
