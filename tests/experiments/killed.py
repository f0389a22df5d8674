"""An experiment on made-up captures as a process of its own, to be killed: OUT ID LOG.

A line of LOG is a capture that begins. A capture ends at once but for the third, which waits for
the file LOG.go: there it is killed.
"""

import sys
import time
from pathlib import Path

import pytest

from profiler_core.experiments.request import spec_of
from profiler_core.store.experiments import read_experiment
from tests.analysis.experiment.worlds import World
from tests.experiments.made_up import Machine, runner

_KILLED_IN = 3
FACTORS = {"freezing=true": 0.8, "bf16-autocast": 0.7, "max-autotune": 1.3}


class Slow(Machine):
    """Says what it captures before it does."""

    log: Path

    def capture(self, spec, out, **options):
        with self.log.open("a") as file:
            file.write(",".join(variant.label for variant in spec.variants) + "\n")
        n_begun = len(self.log.read_text().splitlines())
        while n_begun == _KILLED_IN and not self.log.with_suffix(".go").exists():
            time.sleep(0.05)
        self.captured = [[]] * (n_begun - 1)  # so that its folder has a name of its own
        return super().capture(spec, out, **options)


def main(out: Path, experiment_id: str, log: Path) -> int:
    machine = Slow(World(FACTORS), pytest.MonkeyPatch())
    machine.log = log
    experiment = read_experiment(out, experiment_id)
    runner(machine, experiment, out, spec_of(experiment)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
