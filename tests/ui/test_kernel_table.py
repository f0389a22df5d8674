"""The page of kernels: the name is what tells one row from the next."""

import json
import re
import shutil
from dataclasses import replace
from html import escape
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st

from profiler_core.analysis.item import group_item, kernel_item, module_item, operator_item
from profiler_core.analysis.ledger.folding import fold
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.store import library
from profiler_core.ui import table
from profiler_core.ui.dossier.draw import dossier_html
from profiler_core.ui.fusion import table as fusion_table
from profiler_core.ui.table import (
    NameRoom,
    change_us,
    column_of_each_run,
    fitting_names,
    wide_enough,
    with_minus_signs,
)
from tests.apps import opened
from tests.larger import LARGER

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


def test_no_column_is_wider_than_the_kernel_s_name(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "reduce-overhead"):
        run = CAPTURES / f"customcnn_b1.{variant}"
        shutil.copytree(run, tmp_path / "runs" / "cnn" / variant)
    app = opened("kernels", baseline="run/cnn/eager", candidate=["run/cnn/reduce-overhead"])
    described = json.loads(app.dataframe[0].proto.columns)
    widths = {c["label"]: c["width"] for c in described.values() if "label" in c and "width" in c}
    assert max(widths, key=lambda label: widths[label]) == "kernel"
    # A phone of 390 px still has room for the baseline's times: 16 px a margin, 33 for the box.
    assert widths["kernel"] + widths["eager, µs"] <= 390 - 2 * 16 - 33


def test_what_runs_in_the_place_of_an_operator_that_a_cpu_s_candidate_lacks(
    tmp_path, columns, monkeypatch
):
    """Of aten::linear stood "·" under default, where aten::addmm does the same."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for name in ("smallcnn_cpu.eager", "smallcnn_cpu.default", "customcnn_b1.eager"):
        model, _, variant = name.partition(".")
        shutil.copytree(CAPTURES / name, tmp_path / "runs" / model / variant)
    runs = ["run/smallcnn_cpu/eager", "run/smallcnn_cpu/default"]
    shown = opened("kernels", baseline=runs[0], candidate=runs[1:]).dataframe[0].value
    places = dict(zip(shown["whole"], shown["place"], strict=True))
    assert places["aten::linear"] == "aten::addmm"
    assert places["aten::conv2d"] == "aten::convolution and 1 more"
    assert places["aten::addmm"] == "aten::linear"
    alone = opened("kernels", baseline="run/customcnn_b1/eager").dataframe[0].value
    assert "place" not in alone


def test_what_is_called_and_what_hardly_changes_is_a_number():
    config = column_of_each_run("n", "calls", ("eager", "a", "b"), "calls.", width_px=50)
    assert [column["label"].strip("\u200b") for column in config.values()] == [
        "calls", "→ calls", "→ calls",
    ]  # fmt: skip
    assert len({column["label"] for column in config.values()}) == 3  # or one hides the other
    assert all(column["type_config"]["type"] == "number" for column in config.values())
    # As plain numbers 58.93 stood there with all that a double adds: "58.930000000000000".
    assert all(column["type_config"]["format"] == "%g" for column in config.values())
    assert [f"{change_us(ns):+.1f}" for ns in (-40.0, 40.0, -60.0)] == ["+0.0", "+0.0", "-0.1"]


def test_the_kind_of_a_kernel_fits_into_1280_px_beside_three_runs(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = [f"sample/simplecnn-training/{v}" for v in ("eager", "default", "reduce-overhead")]
    drawn = opened("kernels", baseline=runs[0], candidate=runs[1:]).dataframe[0]
    shown = list(drawn.value.columns)
    described = json.loads(drawn.proto.columns)
    widths = {name: c["width"] for name, c in described.items() if "width" in c}
    # The table is 877 px wide beside the menu, in a window of 1280 px.
    assert sum(widths[name] for name in shown[: shown.index("category") + 1]) <= 870


def _widths_up_to(drawn, last):
    described = json.loads(drawn.proto.columns)
    shown = list(drawn.value.columns)
    return sum(described[name]["width"] for name in shown[: shown.index(last) + 1])


def test_the_calls_of_three_runs_fit_into_1280_px_too(tmp_path, columns, monkeypatch):
    """Those of both candidates lay beyond the right edge."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = [f"sample/resnet50/{variant}" for variant in ("eager", "default", "reduce-overhead")]
    drawn = opened("kernels", baseline=runs[0], candidate=runs[1:]).dataframe[0]
    calls = [name for name in drawn.value.columns if name in ("n0", "n1", "n2")]
    assert len(calls) == 3
    assert "Memset" in set(drawn.value["name"])  # whole: no other memset has to be told from it
    names = [name for name in drawn.value["name"] if name != "Memset"]
    assert min(map(len, names)) > 8  # cut to the room that is left: not to "sm80_"
    assert _widths_up_to(drawn, calls[-1]) <= 870


@pytest.mark.parametrize("page", ["kernels", "modules", "fusion"])
@pytest.mark.parametrize("candidates", [["default"], ["default", "reduce-overhead"]])
def test_beside_a_dossier_stand_whole_columns_alone(
    tmp_path, columns, monkeypatch, page, candidates
):
    """At the edge of the table 53 calls read as 5."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = {
        "baseline": "sample/resnet50/eager",
        "candidate": [f"sample/resnet50/{variant}" for variant in candidates],
    }
    alone = opened(page, **runs).dataframe[0]
    assert list(alone.proto.column_order) == list(alone.value.columns)
    beside = opened(page, **runs, item="operator:conv2d").dataframe[0]
    in_view = list(beside.proto.column_order)
    # The table is 515 px wide beside the menu and a dossier, in a window of 1280 px.
    assert _widths_up_to(beside, in_view[-1]) <= 515
    assert in_view == list(beside.value.columns)[: len(in_view)]
    assert [name[0] for name in in_view[1:4]] == ["t", "t", "d"]


def test_the_leading_candidate_s_times_are_seen_beside_a_dossier(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = [f"sample/bert/{variant}" for variant in ("eager", "default", "reduce-overhead")]
    drawn = opened("kernels", baseline=runs[0], candidate=runs[1:]).dataframe[0]
    shown = list(drawn.value.columns)
    assert shown[1:6] == ["t0", "t2", "d2", "t1", "d1"]  # reduce-overhead leads
    neither = drawn.value[drawn.value["t0"].isna() & drawn.value["t1"].isna()]
    assert len(neither)
    assert neither["d1"].isna().all()  # "+0.0" stood there
    described = json.loads(drawn.proto.columns)
    # Beside the menu and a dossier the table is 515 px wide, in a window of 1280 px.
    assert sum(described[name]["width"] for name in shown[: shown.index("d2") + 1]) <= 510


def test_three_runs_stand_in_one_order_in_chart_and_table(tmp_path, columns, monkeypatch):
    """The chart had eager, default, reduce-overhead, and the calls too, beside times in another."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = [f"sample/bert/{variant}" for variant in ("eager", "default", "reduce-overhead")]
    app = opened("kernels", baseline=runs[0], candidate=runs[1:])
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert [bar["name"] for bar in chart["data"]] == ["eager", "reduce-overhead", "default"]
    shown = list(app.dataframe[0].value.columns)
    numbers = [name for name in shown if re.fullmatch(r"[tn]\d", name)]  # times, then calls
    assert numbers == ["t0", "t2", "t1", "n0", "n2", "n1"]


def test_a_wide_window_has_room_for_more_of_a_kernel_s_name(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = {"baseline": "sample/bert/eager", "candidate": ["sample/bert/default"]}

    def names() -> tuple[int, list[str]]:
        shown = opened("kernels", **runs).dataframe[0]
        return json.loads(shown.proto.columns)["name"]["width"], list(shown.value["name"])

    narrow_px, narrow = names()
    monkeypatch.setattr(table, "is_wide", lambda: True)
    wide_px, wide = names()
    assert (narrow_px, wide_px) == (248, 428)
    assert (max(map(len, narrow)), max(map(len, wide))) == (32, 58)


def test_no_number_loses_its_sign_at_the_left_of_its_column():
    """A change of -134.29 kernels in a column of 46 px read as 134.29."""
    narrow = st.column_config.NumberColumn("Δ", format="%+g", width=46)
    text = st.column_config.TextColumn("name", width=20)
    columns = {"d": narrow, "name": text, "other": narrow}
    cells = {"d": [-134.29, None, float("nan"), 5.0], "name": ["a long name"], "e": [1.0]}
    fitting = wide_enough(columns, cells)
    assert fitting["d"]["width"] >= 7.2 * len("-134.29") + 16
    assert (fitting["name"]["width"], fitting["other"]["width"]) == (20, 46)
    assert narrow["width"] == 46


def test_a_name_of_wide_letters_is_cut_where_it_was_shortened_and_not_by_its_column():
    """Of 32 characters "sm80_xmm…_gemm_indexed_wo_smem_…" lost the last in the room for 32."""
    room = NameRoom(248, 32)
    names = ["sm80_xmm…_gemm_indexed_wo_smem_…", "vectorized_elementwise_kernel", "W" * 30]
    fitting = fitting_names(names, room)
    assert fitting[0] == "sm80_xmm…_gemm_indexed_wo_sm…"
    assert fitting[1] == names[1]
    assert fitting[2] == f"{'W' * 6}…{'W' * 14}"
    alike = ["mmmm…wwwwwwwwwwwwwwwwwwwwa…", "mmmm…wwwwwwwwwwwwwwwwwwwwb…"]
    assert len(set(fitting_names(alike, room))) == 2
    assert fitting_names(["…" * 40], room)


def test_a_change_has_the_minus_sign_of_all_other_numbers_and_is_a_number_still():
    frame = pd.DataFrame({"d": [-134.29, None, 5.0, 0.0], "t": [-1.0, 2.0, 3.0, 4.0]})
    columns = {
        "d": st.column_config.NumberColumn("Δ", format="%+.1f", width=46),
        "t": st.column_config.NumberColumn("eager", format="%.1f", width=46),
    }
    styled, unsigned = with_minus_signs(frame.style, columns)
    html = styled.to_html()
    assert ("−134.3" in html, "+5.0" in html, "·" in html) == (True, True, True)
    assert re.search(r">0\.0<", html)  # no change has no sign
    assert unsigned["d"]["type_config"]["format"] is None  # it would go before the text
    assert unsigned["t"] == columns["t"]
    assert list(styled.data["d"])[0:3:2] == [-134.29, 5.0]


@pytest.fixture(scope="module")
def three_runs() -> Comparison:
    folder = CAPTURES.parents[2] / "sample_traces" / "bert"
    return Comparison.open([folder / run for run in ("eager", "default", "reduce-overhead")])


def test_the_heads_of_a_dossiers_tables_name_their_run_whole(three_runs):
    """Seen: "default,… blocks" for "default, 6 blocks", where the panel had room for it."""
    made = dossier(three_runs, module_item("embeddings"))
    relation = next(each for each in made.relations if each.entries and each.heads)
    named = replace(relation, heads=("eager", "default, 6 blocks"))
    html = str(dossier_html(replace(made, relations=(named,))))
    assert ">default, 6 blocks</th>" in html


def test_how_three_runs_launch_a_kernel_is_told_without_breaking_words(three_runs):
    """Of three columns in 400 px each was too narrow for cudaLaunchKernelExC."""
    (row, *_) = [row for row in three_runs.kernels if None not in row.sides]
    html = str(dossier_html(dossier(three_runs, kernel_item(row.name))))
    launches = html[html.index("Launch and occupancy") :]
    launches = launches[: launches.index("</table>")]
    assert "<thead>" not in launches
    text = re.sub(r"<[^>]+>", "", launches.replace("<br>", " "))
    assert "eager and default: cudaLaunchKernelExC reduce-overhead: cudaGraphLaunch" in text


def test_a_product_is_judged_by_the_run_that_knows_its_operations(three_runs):
    """Replays have no operators: "at 5 % of the memory's bandwidth" said it of 52 % of the peak."""
    (row, *_) = [row for row in three_runs.kernels if None not in row.sides]
    answer = dossier(three_runs, kernel_item(row.name)).answer
    assert re.fullmatch(r"Matrix product at 5\d % of the fp32 peak in [-\w]+\.", answer)


def test_what_a_module_starts_is_not_called_its_calls(three_runs):
    """The embeddings had "8 calls" per step, which are the kernels of one call."""
    html = str(dossier_html(dossier(three_runs, module_item("embeddings"))))
    assert "<th>device events</th>" in html and "<th>calls</th>" not in html
    (row, *_) = three_runs.kernels
    assert "<th>calls</th>" in str(dossier_html(dossier(three_runs, kernel_item(row.name))))


def test_what_a_group_runs_on_the_cpu_is_not_called_device_events():
    runs = Comparison.open([CAPTURES / f"smallcnn_cpu.{run}" for run in ("eager", "default")])
    html = str(dossier_html(dossier(runs, group_item(1, 1))))
    assert "<th>operators</th>" in html and "device events" not in html


def test_kernels_of_a_module_are_told_apart_by_their_names(three_runs):
    """Two read "elementwise_kernel<128, 2, at…{lambda(int)#1})", cut before what they compute."""
    html = str(dossier_html(dossier(three_runs, module_item("embeddings"))))
    listed = html[html.index("Kernels, slowest first") :]
    rows = re.sub("<wbr>|</?span[^>]*>", "", listed[: listed.index("</table>")])
    names = re.findall(r"<th scope=row[^>]*>\s*<a[^>]*>([^<]*)</a>", rows)
    assert len(names) == len(set(names)) == 7
    assert {
        "vectorized_gather_kernel",
        "elementwise_kernel CUDAFunctor_add",
        "elementwise_kernel direct_copy_kernel_cuda",
    } <= set(names)


def test_each_candidate_has_the_kernels_that_an_operator_became_there(three_runs):
    """Under default stood "·" beside a kernel that takes 87 µs there, then no column."""
    relations = dossier(three_runs, operator_item("aten::gelu")).relations
    (kernels,) = [relation for relation in relations if relation.kind == "kernels"]
    assert kernels.heads == ("eager", "default", "reduce-overhead")
    (default_ns,) = [entry.times_ns[1] for entry in kernels.entries if entry.times_ns[1]]
    assert default_ns == pytest.approx(87e3, rel=0.01)


def test_the_ends_of_names_of_groups_and_modules_fit_into_a_small_window(three_runs):
    """ "…er.layer.0.outp" was cut at both ends, "gather + … + laye" at its end."""
    pair = three_runs.pairs[1]
    cells, described = fusion_table.cells_and_columns(pair, fold(pair.ledger.groups))
    assert all(len(name) <= 30 for name in cells["group"])
    assert all(len(name) <= 21 for name in cells["module"])
    assert any(re.fullmatch(r"gather .*….* layer_norm", name) for name in cells["group"])
    assert "modeling_bert.py:350 +1" in cells["source"]  # "modeling_bert.py:350 and 1 m"
    shown = list(cells)
    assert shown[0] == "group"
    # The table is 868 px wide beside the menu and a scroll bar, in a window of 1280 px.
    places = shown[: shown.index("module") + 1]
    assert sum(described[name]["width"] for name in places) <= 868


def test_a_row_of_many_groups_says_how_sure_the_least_sure_is():
    """ "high confidence" stood at eleven attentions, of which two were guesses."""
    captures = LARGER / "captures"
    traces = [captures / f"bert.{name}" / "trace.json.gz" for name in ("eager", "default")]
    pair = Comparison.open(traces).pairs[0]
    rows = fold(pair.ledger.groups)
    cells, _ = fusion_table.cells_and_columns(pair, rows)
    titles = [row.title for row in rows]
    attention = titles.index("11 × scaled_dot_product_attention")
    assert [group.confidence for group in rows[attention].groups].count("low") == 2
    assert cells["how"][attention] == "low to high confidence"


def test_a_group_of_products_is_judged_by_its_operations_too(three_runs):
    """ "Now at 3 % of the memory's bandwidth" stood over a product at 60 % of the fp32 peak."""
    groups = three_runs.pairs[0].ledger.groups
    (number, *_) = (n for n, group in enumerate(groups) if group.title == "linear")
    answer = dossier(three_runs, group_item(1, number)).answer
    assert re.search(
        r"; now at \d % of the memory's bandwidth and \d\d % of the fp32 peak;", answer
    )


def test_a_long_name_says_that_it_is_cut_and_is_there_whole(three_runs):
    """Five lines of a name of C++ ended without a sign, in a box that had to be scrolled."""
    (row, *_) = three_runs.kernels
    made = dossier(three_runs, kernel_item(row.name))
    name = "begin::" + "kernel<float, " * 30 + "end>"
    html = str(dossier_html(replace(made, title=name))).replace("<wbr>", "")
    title = re.search(r"<h2[^>]*>(.*?)</h2>", html)[1]
    assert title.startswith("begin::") and "…" in title and title.endswith("end&gt;")
    assert f'<summary>in full</summary><p class="fs-note fs-mono">{escape(name)}<' in html
    assert "in full" not in str(dossier_html(replace(made, title="short")))


def test_a_finding_with_nothing_at_stake_has_no_amount_in_a_dossier(three_runs):
    """It began with "– to know ·"."""
    (row, *_) = [row for row in three_runs.kernels if None not in row.sides]
    made = dossier(three_runs, kernel_item(row.name))
    (first, *_) = made.findings
    note = replace(first.finding, prediction=None, one_off_ns=None, weight="note")
    noted = replace(made, findings=(replace(first, finding=note),))
    assert "to know" not in str(dossier_html(noted))
    assert "per step ·" in str(dossier_html(made))
