"""``python -m antechamber``."""

import sys

from antechamber.cli import main

sys.exit(main())
