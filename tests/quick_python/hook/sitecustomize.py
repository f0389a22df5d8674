"""The program of QUICK_PYTHON is this process's interpreter, as far as it asks."""

import os
import sys

sys.executable = os.environ.get("QUICK_PYTHON", sys.executable)
