"""`python -m fusionscope VERB`, the same as the command `fusionscope`."""

import sys

from profiler_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
