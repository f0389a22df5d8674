"""What findings predicted and experiments measured stays when an experiment's folder is gone."""

import shutil

import msgspec

from profiler_core.analysis.experiment.realised import by_finding, realised
from profiler_core.home import runs_directory
from profiler_core.store import history
from profiler_core.store.experiments import folder_of, write_experiment
from tests.analysis.experiment.test_realised import tried


def test_predictions_are_kept_once_and_outlive_the_folder(home):
    ended = msgspec.structs.replace(tried(250_000.0, 150_000.0, 260_000.0), state="finished")
    running = msgspec.structs.replace(
        ended, state="running", experiment_id=f"{ended.experiment_id}1"
    )
    assert history.keep_predictions([running]) == 0, "what runs has more to say"
    write_experiment(runs_directory(), ended)
    history.reconcile()
    assert history.predictions() == realised([ended])
    assert history.keep_predictions([ended]) == 0
    shutil.rmtree(folder_of(runs_directory(), ended.experiment_id))
    history.reconcile()
    (kind,) = by_finding(history.predictions())
    assert (kind.finding, kind.n, kind.n_within) == ("launch_bound", 1, 1)
