"""The page of modules under AppTest: of a pair, of a run alone, and without modules."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from profiler_core.analysis.modules import ModuleRow, ModuleSide
from profiler_core.analysis.rows.modules import NO_MODULES, how_divided
from profiler_core.analysis.span import PER_STEP
from profiler_core.session.comparison import Comparison
from profiler_core.ui.modules.table import in_tree
from profiler_core.ui.table import frame_height
from tests.apps import checked, opened, text_of
from tests.uploading import accept

pytestmark = pytest.mark.usefixtures("home_of_module")

SAMPLES = Path(__file__).parents[2] / "sample_traces"
LOOP = Path(__file__).parents[1] / "fixtures" / "server_loop"
SAMPLE = {"baseline": "sample/simplecnn-training/eager"}
PAIR = {**SAMPLE, "candidate": "sample/simplecnn-training/default"}
DIVIDED = how_divided(PER_STEP, of_modules=True, is_pair=True)


def test_layers_of_a_pair_add_up_and_the_search_leaves_one():
    app = opened("modules", **PAIR)
    frame = app.dataframe[0].value
    names = [name.strip() for name in frame["name"]]
    assert names[:3] == ["step", "(model)", "conv1"]
    below = frame[[name.count("\u2003") == 1 for name in frame["name"]]]
    for side in ("t0", "t1"):
        assert below[side].sum() == pytest.approx(frame[side][0])
    assert DIVIDED in unescape(text_of(app))
    # Numbers, not texts of both sides: a click on the head sorts 154 below 256, and below 1 024.
    for name in ("t0", "t1", "delta", "n", "n_change", "bytes", "bytes_change"):
        assert frame[name].dtype.kind in "if", name
    one = opened("modules", **PAIR, find="norm1").dataframe[0].value
    assert list(one["name"]) == ["norm1"]


@pytest.mark.parametrize("sample", ["simplecnn-training/default", "bert/reduce-overhead"])
def test_time_change_share_kernels_and_memory_fit_into_1280_px(sample):
    """Also beside names that are deep and long, and a candidate with a long one."""
    eager = f"sample/{sample.partition('/')[0]}/eager"
    table = opened("modules", baseline=eager, candidate=f"sample/{sample}").dataframe[0]
    shown = list(table.value.columns)
    described = json.loads(table.proto.columns)
    widths = {name: c["width"] for name, c in described.items() if "width" in c}
    needed = ("t1", "delta", "share", "n_change", "bytes_change", "made_change")
    last = max(shown.index(name) for name in needed if name in shown)
    assert widths["name"] >= 160
    # The table is 877 px wide beside the menu, in a window of 1280 px.
    assert sum(widths[name] for name in shown[: last + 1]) <= 870


def test_kernels_are_those_of_the_overview_and_copies_have_a_column_of_their_own():
    """Of 257 kernels per step 48 were memsets; the overview counted 209."""
    sample = {"baseline": "sample/bert/eager", "candidate": "sample/bert/default"}
    table = opened("modules", **sample).dataframe[0]
    step = table.value.iloc[0]
    assert (step["n"], step["n_change"], step["copies"]) == (208, 54, 48)
    # All of them are memsets: "copies" stood above 48, and `compare` has 0 memcpy.
    assert json.loads(table.proto.columns)["copies"]["label"] == "copies, memsets"
    overview = Comparison.open([SAMPLES / "bert" / run for run in ("eager", "default")])
    assert overview.check().pairs[0].numbers.n_kernels == (154, 208)


@pytest.mark.parametrize(("sample", "unit"), [("breaky", "kB"), ("simplecnn-training", "MB")])
def test_bytes_have_the_unit_of_the_largest_and_what_did_not_change_no_sign(sample, unit):
    """Of breaky each allocation was 0.0 MB, with +0.0 beside it."""
    pair = {"baseline": f"sample/{sample}/eager", "candidate": f"sample/{sample}/default"}
    table = opened("modules", **pair).dataframe[0]
    described = json.loads(table.proto.columns)
    heads = [described[name]["label"].strip("\u200b") for name in
             ("bytes", "bytes_change", "made", "made_change")]  # fmt: skip
    assert heads == [f"moved, {unit}", f"Δ {unit}", f"alloc., {unit}", f"Δ {unit}"]
    runs = [SAMPLES / sample / run for run in ("eager", "default")]
    of_model = Comparison.open(runs).pairs[0].divided.modules.root
    made = of_model.per_step(of_model.sides[1].made_bytes, 1)
    whole = {"kB": 1e3, "MB": 1e6}[unit]
    assert table.value["made"][0] == pytest.approx(made / whole, abs=0.01)


def test_an_opened_module_lists_its_groups_with_its_share():
    text = unescape(text_of(opened("modules", **PAIR, item="module:norm2")))
    assert "all groups that work for it" in text
    assert "batch_norm" in text
    assert "conv2" not in text.split("all groups that work for it")[1].split("<tr>")[0]


def test_a_run_alone_has_its_own_times():
    """ "In proportion to what each took in the baseline" stood there, which is not there."""
    assert DIVIDED not in unescape(text_of(opened("modules", **SAMPLE)))
    frame = opened("modules", **SAMPLE, view="operators").dataframe[0].value
    assert "t0" not in frame
    assert frame["t1"][0] == frame["t1"].max()


def parts_in(app):
    """The table of the groups that work for the opened module."""
    return text_of(app).split("all groups that work for it")[1].split("</table>")[0]


def test_groups_of_a_run_alone_have_one_time_and_lead_nowhere():
    """Two equal columns with +0 ns behind them; each group led to "no fusion group 0.5"."""
    alone = {"baseline": "sample/bert/default", "item": "module:encoder.layer.3"}
    parts = parts_in(opened("modules", **alone))
    heads = re.findall(r"<th\b[^>]*>([^<]*)", parts.split("</thead>")[0])
    assert heads == ["Group", "default", "its share", "also works for"]
    assert "item=group" not in parts


def test_without_modules_the_page_says_how_to_get_them_and_shows_operators():
    app = opened("modules", **SAMPLE)
    assert NO_MODULES in unescape(text_of(app))
    assert "conv2d" in list(app.dataframe[0].value["name"])


@pytest.fixture(scope="module")
def of_server():
    return {"baseline": recording_of_server()}


def recording_of_server():
    """The recording of a server, as an upload."""
    files = {
        path.relative_to(LOOP.parent).as_posix(): path.read_bytes()
        for path in (LOOP / "trace.json.gz", *(LOOP / "capture_traces").iterdir())
    }
    return accept(files).keys[0]


def test_a_servers_steps_are_chosen_by_phase_and_batch_and_sum_to_all(of_server):
    app = opened("modules", **of_server)
    whole = app.dataframe[0].value["t1"][0]
    choice = app.selectbox(key="steps")
    assert choice.options == ["all steps", "decode, 1", "decode, 4", "decode, 16"]
    total = 0.0
    for name, n_steps in (("decode, 1", 3), ("decode, 4", 4), ("decode, 16", 5)):
        app = checked(app.selectbox(key="steps").set_value(name).run())
        assert f"Steps of {name}: " in unescape(text_of(app))
        total += n_steps * app.dataframe[0].value["t1"][0]
    assert total == pytest.approx(whole)


def test_a_group_of_some_steps_leads_to_no_group_of_all_steps(of_server):
    chosen = {"item": "module:Decoder_0", "view": "by class"}
    pair = {**of_server, "candidate": recording_of_server()}
    assert "item=group" in parts_in(opened("modules", **pair, **chosen))
    assert "item=group" not in parts_in(opened("modules", **pair, **chosen, steps="decode, 4"))


def test_without_a_server_there_is_no_choice_of_steps():
    app = opened("modules", **SAMPLE)
    assert all(choice.key != "steps" for choice in app.selectbox)


@pytest.mark.parametrize("depth", [0, 3, 9])
def test_a_deep_name_keeps_its_end_which_tells_it_apart(depth):
    """The column cut `token_type_embeddings` behind the last letter that had room."""
    side = ModuleSide()

    def shown(name):
        return in_tree(ModuleRow(name, depth, (side, side), (), (1, 1)))

    assert shown("conv1") == "\u2003" * depth + "conv1"
    name = shown("a_module_whose_very_long_name_ends_in_output_dense")
    assert name.startswith("\u2003" * depth + "a_m")
    assert name.endswith("ense")
    assert len(name) * 6.9 + depth * 6.1 <= 250 or len(name) - depth == 10


def test_a_row_of_the_tree_counts_the_calls_that_fall_together():
    """Of ddp six blocks stood there as one "qkv", which only the note below the table told."""
    app = opened("modules", baseline="sample/ddp/eager", candidate=["sample/ddp/default"])
    names = [name.strip() for name in app.dataframe[0].value["name"]]
    assert names[1].startswith("6 calls of Trans")  # and not of the model
    assert {"6 calls of norm1", "6 calls of qkv"} <= set(names)


def test_a_row_more_than_the_height_allows_is_shown_whole():
    """Half of the last one of fourteen kernels stood below the edge."""
    assert frame_height(14, most_px=460) == 468
    assert frame_height(15, most_px=460) == 460


@pytest.mark.parametrize(
    ("address", "of"),
    [
        ({"of": "1"}, "default"),
        ({"of": "2"}, "reduce-overhead"),
        ({"of": "default"}, "default"),  # as links of earlier versions have it
        ({"item": "module@1:head"}, "default"),
        ({"item": "module@2:head"}, "reduce-overhead"),
        ({"item": "group:1.0"}, "default"),
        ({"item": "module@1:head", "of": "2"}, "reduce-overhead"),
    ],
)
def test_the_address_says_which_candidate_is_shown(address, of):
    runs = [f"sample/customcnn/{variant}" for variant in ("eager", "default", "reduce-overhead")]
    app = opened("modules", baseline=runs[0], candidate=runs[1:], **address)
    assert app.button_group(key="fs_candidate").value == (["default", "reduce-overhead"].index(of))
    row = app.dataframe[0].value
    # 1.90 us by the trace of default, 2.25 by that of reduce-overhead
    head = row[[name.strip() == "head" for name in row["name"]]].iloc[0]
    assert round(head["t1"], 2) == {"default": 1.90, "reduce-overhead": 2.25}[of]
