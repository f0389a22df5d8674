"""`make golden`: take the numbers of the golden captures as they are now. Review the diff."""

import os
import tempfile
from pathlib import Path

from tests.analysis.test_captures import FIXTURES, golden_text


def main() -> None:
    """Write one file for each capture of tests/fixtures/captures."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["FUSIONSCOPE_HOME"] = home
        for folder in sorted(path.parent for path in FIXTURES.glob("*/run.json")):
            target = Path(__file__).parent / f"{folder.name}.json"
            target.write_text(golden_text(folder), encoding="utf-8")
            print(target)


if __name__ == "__main__":
    main()
