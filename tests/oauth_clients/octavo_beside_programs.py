"""``octavo`` as it is, except that it fetches metadata documents also from this machine.

It refuses that for good reason, as `tests/features/oauth/test_public_fetch.py` shows. The first
argument is the file with the authority of the server of the documents.
"""

import os
import sys
from functools import partial
from unittest.mock import patch

from octavo.cli import main
from octavo.features.oauth import public_fetch

if __name__ == "__main__":
    os.environ["SSL_CERT_FILE"] = sys.argv.pop(1)
    backend = partial(public_fetch.PublicBackend, lambda _: True)
    with patch.object(public_fetch, "PublicBackend", backend):
        main()
