"""`python -m profiler_core VERB`."""

import sys

from profiler_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
