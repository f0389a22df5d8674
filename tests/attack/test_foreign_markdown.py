"""Names of runs are no Markdown: a picture of one would be asked for by whoever opens the page.

Streamlit takes for Markdown what buttons, choices of several buttons, captions and helps say. A
picture with the address of the sign-out ended the sign-in of whoever looked at the comparison.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import streamlit as st
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from profiler_core.capture.spec import CaptureSpec
from profiler_core.experiments.request import new_experiment
from profiler_core.model.experiment import Batch, Ratio, Trial
from profiler_core.store import library
from profiler_core.store.experiments import write_experiment
from profiler_core.ui.links import plain_option
from tests.apps import opened

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
PICTURE = "![x](auth/logout?{})"
ACTIVE = re.compile(r"(?<!\\)\[x")
CHOSEN = {"baseline": "run/c/eager", "candidate": ["run/c/a", "run/c/b"]}
# Elements that show what they are sent as text, or as HTML, which the templates escape.
AS_TEXT = {"html", "bidi_component", "plotly_chart", "code", "selectbox", "multiselect"}
FIELDS_AS_TEXT = {"id", "url", "data", "element_id", "raw_values", "query_param_key"}


@pytest.fixture(scope="module")
def columns_of_these(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("columns")


@pytest.fixture
def runs(home: Path, columns_of_these: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (home / "cache").symlink_to(columns_of_these)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    st.cache_resource.clear()
    for source, name in (("eager", "eager"), ("reduce-overhead", "a"), ("reduce-overhead", "b")):
        folder = home / "runs" / "c" / name
        shutil.copytree(CAPTURES / f"customcnn_b1.{source}", folder)
        record = json.loads((folder / "run.json").read_text())
        for key in ("workload", "name", "variant", "error"):
            record[key] = PICTURE.format(f"{key}-{name}")
        (folder / "run.json").write_text(json.dumps(record | {"run_id": f"c.{name}"}))
    return home / "runs"


@pytest.mark.parametrize("page", ["overview", "kernels", "fusion", "modules", "memory"])
def test_names_of_runs_are_no_markdown(runs: Path, page: str) -> None:
    app = opened(page, **CHOSEN)
    assert "auth/logout" in str(app)  # or nothing is tried
    assert list(active(app)) == []


def test_what_an_experiment_says_is_no_markdown(runs: Path) -> None:
    spec = CaptureSpec("customcnn", name=PICTURE.format("title"))
    asked = new_experiment(spec, budget_s=60)
    fastest = Trial(
        setting=(), variant=PICTURE.format("setting"), status="measured", step_ns=1e6,
        numerics="right", n_rounds=8, speedup=Ratio(ratio=2.0, low=1.9, high=2.1),
    )  # fmt: skip
    batch = Batch(phase="start", capture_id="c", seconds=1, trials=(fastest,), baseline_ns=2e6)
    told = msgspec.structs.replace(asked, state="finished", batches=(batch,))
    write_experiment(runs, told)
    app = opened("experiments", experiment=told.experiment_id)
    assert "setting" in app.caption[0].value, app.caption
    assert list(active(app)) == []


def test_what_a_failed_run_printed_is_under_no_markdown(tmp_path: Path, home: Path) -> None:
    (tmp_path / "log.txt").write_text("no\n")
    script = (
        "from pathlib import Path\n"
        "from profiler_core.ui.printed import show_printed\n"
        f"show_printed(Path({str(tmp_path / 'log.txt')!r}), title={PICTURE!r}, key='k')\n"
    )
    app = AppTest.from_string(script, default_timeout=300).run()
    assert not app.exception
    assert len(app.expander) == 1
    assert list(active(app)) == []


def test_ordinary_names_stand_in_an_address_as_they_are() -> None:
    for name in ("reduce-overhead", "default+dynamo.recompile_limit=64", "a.py:f, 2 blocks (b/c)"):
        assert plain_option(name).replace("\\:", ":").replace("\\", "") == name
    assert plain_option("default+channels_last") == "default+channels_last"
    assert plain_option("_a_") == "\\_a\\_"


def active(app: AppTest) -> Iterator[tuple[str, str]]:
    """What would be drawn of a name: element and text."""
    for node in app:
        kind, proto = node.type, getattr(node, "proto", None)
        if kind not in AS_TEXT and isinstance(proto, Message):
            for text in texts_of(proto):
                if ACTIVE.search(text):
                    yield kind, text


def texts_of(message: Message) -> Iterator[str]:
    """What may be drawn as Markdown; of the columns of a frame their helps."""
    for field, value in message.ListFields():
        values: Any = value if field.is_repeated else [value]
        for each in values:
            if isinstance(each, Message):
                yield from texts_of(each)
            elif field.name == "columns":
                yield from (str(column.get("help")) for column in json.loads(each).values())
            elif isinstance(each, str) and field.name not in FIELDS_AS_TEXT:
                yield each
