"""Two different workloads can be put beside each other, and nobody is told that fusion did it."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.ui.fusion.words import OTHER_WORKLOADS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["overview", "fusion"])
@pytest.mark.parametrize(
    ("candidate", "warned"), [("sample/dynshape/default", True), ("sample/breaky/default", False)]
)
def test_a_map_of_different_workloads_claims_nothing(
    tmp_path, columns, monkeypatch, name, candidate, warned
):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    app = AppTest.from_file(str(ROOT / "pages" / f"{name}.py"), default_timeout=120)
    app.query_params["baseline"] = "sample/breaky/eager"
    app.query_params["candidate"] = [candidate]
    app.run()
    assert not app.exception
    said = " ".join(str(element.proto.body) for element in app.get("html"))
    assert "is placed" in said
    assert (OTHER_WORKLOADS in said) == warned
