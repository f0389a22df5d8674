"""`python -m tests.matrix`: write docs/compatibility.md from what the tests found."""

import sys

from tests.matrix.document import PATH, document
from tests.matrix.environments import WANTED
from tests.matrix.results import kept

if __name__ == "__main__":
    PATH.write_text(document([kept(wanted.name) for wanted in WANTED]), encoding="utf-8")
    sys.stdout.write(f"{PATH}\n")
