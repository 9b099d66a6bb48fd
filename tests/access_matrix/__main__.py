"""Write the table of the page on security anew: ``python -m tests.access_matrix``."""

import sys
import tempfile
from pathlib import Path

import trio

from tests.access_matrix.run import Matrix, made
from tests.access_matrix.table import PAGE, replaced


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        matrix: Matrix = trio.run(made, Path(folder))
    PAGE.write_text(replaced(PAGE.read_text(), matrix.cells))
    sys.stderr.writelines(f"{fault}\n" for fault in matrix.faults)
    return int(bool(matrix.faults))


if __name__ == "__main__":
    sys.exit(main())
