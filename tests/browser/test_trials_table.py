"""The table of an experiment's trials, as wide as it gets, in a small window."""

import msgspec
import pytest
from playwright.sync_api import Page, expect

from profiler_core.model.experiment import Moved, Trial
from profiler_core.store.experiments import write_experiment
from tests.browser.conftest import Server, at_rest, ready
from tests.browser.experiments import ended_experiment

pytestmark = pytest.mark.browser

_MOVED = (
    Moved(title="12 × scaled_dot_product_attention", delta_ns=-115_000.0),
    Moved(title="gelu + native_layer_norm + view", delta_ns=23_000.0),
)


def _with_all_columns(trial: Trial) -> Trial:
    """As a GPU's trial, with something in each column."""
    return msgspec.structs.replace(
        trial, moved=_MOVED, peak_bytes=1_230_000_000, numerics="not comparable"
    )


def test_the_last_column_is_in_view(
    page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed by group ran beyond the edge at 1 280 px."""
    with ended_experiment(server, monkeypatch) as experiment:
        batches = tuple(
            msgspec.structs.replace(batch, trials=tuple(map(_with_all_columns, batch.trials)))
            for batch in experiment.batches
        )
        write_experiment(server.home / "runs", msgspec.structs.replace(experiment, batches=batches))
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(server.link("experiments", experiment=experiment.experiment_id))
        ready(page)
        table = page.locator(".fs-trials")
        expect(table.get_by_text("Change by group, profiled")).to_be_attached()
        at_rest(page)
        cut = "table => table.parentElement.scrollWidth - table.parentElement.clientWidth"
        assert table.evaluate(cut) <= 1
