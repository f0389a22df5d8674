"""What `make test-matrix` found, kept beside the environments until the document is written."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from tests.matrix.cells import Cell, cells, lost
from tests.matrix.environments import Environment, folder
from tests.matrix.trial import Trial


@dataclass(frozen=True)
class Result:
    """One column of the document. date: YYYY-MM-DD; trial_s: of all commands together."""

    name: str
    date: str
    torch: str
    python: str
    made_s: float
    size_bytes: int
    trial_s: float
    cells: dict[str, Cell]
    lost: list[str]


def keep(environment: Environment, trial: Trial) -> Result:
    """Make the result of a trial, and write it down."""
    facts = trial["doctor"]["facts"]
    result = Result(
        environment.name, f"{datetime.now(UTC):%Y-%m-%d}", facts["torch"], facts["python"],
        environment.made_s, environment.size_bytes, trial.seconds, cells(trial), lost(trial),
    )  # fmt: skip
    path = folder() / f"result-{environment.name}.json"
    path.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False), encoding="utf-8")
    return result


def kept(name: str) -> Result:
    """The result of the last trial of an environment.

    Raises:
        FileNotFoundError: there was none.
    """
    text = (folder() / f"result-{name}.json").read_text(encoding="utf-8")
    fields = json.loads(text)
    found = {key: Cell(**cell) for key, cell in fields.pop("cells").items()}
    return Result(cells=found, **fields)
