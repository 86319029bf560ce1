"""`python -m everlearn` is the command `everlearn`."""

import sys

from everlearn.cli import main

if __name__ == "__main__":
    sys.exit(main())
