"""Search: what comes first, and what is left out."""

from pathlib import Path

import pytest

from profiler_core.analysis.item import kernel_item, module_item
from profiler_core.analysis.search import SearchEntry, SearchIndex
from profiler_core.session.comparison import Comparison
from profiler_core.session.search import search_index

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def a_module(path, step_ns=1.0, detail=""):
    return SearchEntry("module", path, detail, module_item(path), step_ns, module=path)


def a_kernel(name, step_ns=1.0, detail=""):
    return SearchEntry("kernel", name, detail, kernel_item(name), step_ns)


def test_where_no_file_names_modules_a_search_without_a_match_says_so():
    """Of a bare trace "layer 3" found nothing, and nobody said why."""
    bare, named = SearchIndex([a_kernel("gelu")]), SearchIndex([a_module("h.3")])
    assert "No file names modules" in bare.no_match("layer 3")
    assert "with_stack=True" in bare.no_match("layer 3")
    nothing = "Nothing in these runs matches."
    assert named.no_match("layer 3") == SearchIndex([]).no_match("layer 3") == nothing


def test_a_layer_of_blocks_that_fall_together_is_not_found_without_a_reason():
    """Of the job among the samples "layers.3" found nothing, and Modules alone said why."""
    job = Comparison.open([SAMPLES / "ddp" / name for name in ("eager", "default")])
    index = search_index(job)
    assert not index.search("layers.3", 5)
    assert "6 calls per step of one compiled block fall together" in index.no_match("layers.3")
    assert "fall together" not in index.no_match("unheard of")
    assert index.search("norm1", 5)


def test_a_module_that_no_group_names_is_not_found_without_a_reason():
    """Of breaky "second" found nothing: the code behind its last break has no name anywhere."""
    index = search_index(Comparison.open([SAMPLES / "breaky" / n for n in ("eager", "default")]))
    assert index.search("first", 5)
    assert not index.search("second", 5)
    assert index.no_match("second") == (
        "Nothing in these runs matches; the module that they name is first. 5 of 7 groups have no "
        "module: no node of a graph that names one and no Python call belongs to them. Search for "
        "the operator of a module that is missing."
    )


def test_what_is_called_like_no_module_is_answered_with_the_few_that_there_are():
    """Of a model without a layer 3 it was said that 4 of 27 groups have no module."""
    none = "Nothing in these runs matches"
    flat = SearchIndex(map(a_module, ("(model)", "conv1", "norm1", "(optimizer)")))
    assert flat.no_match("layer 3") == f"{none}; the modules that they name are conv1 and norm1."
    assert flat.no_match("bn1") == flat.no_match("layer 3")
    deep = SearchIndex(map(a_module, ("encoder", "encoder.layer.0", "pooler")))
    assert deep.no_match("layer 3") == (
        f"{none}; the outermost modules that they name are encoder and pooler."
    )
    many = SearchIndex(a_module(f"conv{n}") for n in range(50))
    assert many.no_match("bn1") == f"{none}."


def test_a_name_with_a_digit_asks_for_no_block_by_its_number():
    """Of the job among the samples "bn1", which it lacks, was said to fall together."""
    job = SearchIndex([a_module("norm1")], n_merged=6)
    assert "fall together" in job.no_match("layer 3")
    assert "fall together" not in job.no_match("bn1")


def test_where_no_group_became_slower_that_is_the_answer():
    """The page Fusion stood there alone, and no sentence."""
    folder = SAMPLES / "resnet50"
    index = search_index(Comparison.open([folder / "eager", folder / "default"]))
    assert not index.search("which group became slower and why", 5)
    for words in ("slower", "what got slower", "which group became slower and why"):
        assert index.no_match(words, has_page=True) == (
            "No group became slower: 101 of 104 became faster, and 3 stayed within 5 %."
        )
    bert = search_index(Comparison.open([SAMPLES / "bert" / n for n in ("eager", "default")]))
    assert "No file names modules" in SearchIndex([a_kernel("gelu")]).no_match(
        "layer 7", has_page=True
    )  # the page Modules alone was listed
    assert bert.no_match("slower unheard of", has_page=True) == ""  # some became slower
    assert SearchIndex([a_kernel("gelu")]).no_match("slower", has_page=True) == ""


def test_a_search_for_graph_breaks_says_that_there_are_none_or_why_none_is_told():
    """Of a bare trace it was answered with modules, and of logs without a break with nothing."""
    entries = [a_kernel("gelu")]
    bare = SearchIndex(entries).no_match("Graph break")
    assert "No file is a log of the compiler" in bare
    assert "modules" not in bare
    logged = SearchIndex(entries, has_log=True).no_match("which break costs what")
    assert logged.endswith("The logs of the compiler have no graph break.")
    broken = SearchEntry("graph break", "print", "", kernel_item("p"))
    assert SearchIndex([broken], has_log=True).no_match("break of gelu") == (
        "Nothing in these runs matches."
    )


def titles(entries, query, most=10):
    return [entry.title for entry in SearchIndex(entries).search(query, most)]


def test_a_layers_number_is_a_whole_part():
    paths = ["h.31.ln_1", "h.3.ln_12", "h.3.ln_1", "h.3.mlp"]
    shown = titles([a_module(path) for path in paths], "ln_1 h.3")
    assert shown[0] == "h.3.ln_1"
    assert set(shown[1:]) == {"h.31.ln_1", "h.3.ln_12"}  # they hold both words all the same


def test_a_layer_is_one_of_modules_and_no_other_number():
    """Jobs without modules have groups whose lines, times and counts hold a 7."""
    groups = [
        SearchEntry("group", "layer_norm + 7 others", "faster by 7 µs, net.py:7", kernel_item("a")),
        SearchEntry("group", "layer_norm", "forward", kernel_item("b"), module="h.6.ln, h.7.ln"),
    ]
    assert titles(groups[:1], "what did layer 7 gain") == titles(groups[:1], "layer 7") == []
    modules = [a_module(path) for path in ("h.7.ln_1", "h.17", "h.7", "h.7.mlp")]
    assert titles([*groups, *modules], "layer 7") == ["h.7", "h.7.ln_1", "h.7.mlp", "layer_norm"]
    assert titles([*groups, *modules], "ln layer 7")[0] == "h.7.ln_1"
    assert titles(groups, "layer_norm") == ["layer_norm", "layer_norm + 7 others"]


def test_a_resnets_layer_3_is_layer3_and_not_the_third_block_of_layer2():
    modules = [a_module(p) for p in ("layer2.3", "layer2.3.bn1", "layer3", "layer3.0.bn1", "fc3")]
    found = titles(modules, "layer 3")
    assert found[0] == "layer3"
    assert "layer2.3" in found
    assert "fc3" not in found
    assert titles(modules, "bn layer 3")[0] == "layer3.0.bn1"


def test_names_are_found_with_and_without_their_underscores():
    entries = [a_kernel("bn_fw", detail="batch_norm"), a_module("net.BatchNorm")]
    assert set(titles(entries, "batchnorm")) == set(titles(entries, "batch_norm"))
    assert len(titles(entries, "batchnorm")) == 2


def test_words_that_only_hold_a_question_together_need_not_occur():
    modules = [a_module("encoder.layer.3.output.LayerNorm"), a_module("encoder.layer.3.output")]
    assert titles(modules, "my layer norm of layer 3") == ["encoder.layer.3.output.LayerNorm"]
    group = SearchEntry("group", "embedding ×3 + layer_norm", "", kernel_item("g"), 9.0)
    assert titles([group, *modules], "layer norm layer 3")[0] == modules[0].title
    assert titles([a_kernel("of_all"), a_kernel("add")], "of") == ["of_all"]  # alone it is meant


def test_exact_then_prefix_then_parts_then_details():
    entries = [
        a_kernel("gelu", detail="calls add"),
        a_kernel("readd"),
        a_kernel("triton_poi_fused_addmm_0"),
        a_kernel("triton_poi_fused_add_0"),
        a_kernel("addmm"),
        a_kernel("add"),
    ]
    assert titles(entries, "ADD ") == [
        "add", "addmm", "triton_poi_fused_add_0", "triton_poi_fused_addmm_0", "readd", "gelu",
    ]  # fmt: skip


def test_of_equal_rank_the_kind_that_says_most_then_the_most_time():
    entries = [a_kernel("norm", 9.0), a_module("norm", 1.0), a_module("norm", 2.0)]
    hits = SearchIndex(entries).search("norm", 10)
    assert [(entry.kind, entry.step_ns) for entry in hits] == [
        ("module", 2.0), ("module", 1.0), ("kernel", 9.0),
    ]  # fmt: skip


def test_one_kind_does_not_hide_the_others_and_no_word_finds_nothing():
    entries = [*(a_module(f"h.{n}.norm") for n in range(40)), a_kernel("a norm")]
    shown = titles(entries, "norm", 20)
    assert len(shown) == 9
    assert shown[-1] == "a norm" or "a norm" in shown
    assert titles(entries, "  ") == []
    assert titles(entries, "nothing of this") == []


@pytest.mark.parametrize(
    ("sample", "query", "item"),
    [
        (
            "bert",
            "layer.3 layernorm attention",
            "module:encoder.layer.3.attention.output.LayerNorm",
        ),
        ("bert", "aten::linear", "operator:aten::linear"),
        ("bert", "modeling_bert.py:292", "source:modeling_bert.py:292"),
        ("breaky", "break print", "break:1.1"),  # it costs more than the other
        ("breaky", "graph breaks in a step", "finding:1.graph_breaks"),
        ("dynshape", "recompile", "finding:1.recompiles"),  # and no kernel of precompiled engines
    ],
)
def test_a_comparison_is_searched_as_a_whole(sample, query, item):
    comparison = Comparison.open([SAMPLES / sample / "eager", SAMPLES / sample / "default"])
    index = search_index(comparison)
    assert index is search_index(comparison)
    assert index.search(query, 5)[0].item.text == item


def test_a_run_alone_without_logs_is_searched_too():
    comparison = Comparison.open([SAMPLES / "bert" / "eager"])
    entries = search_index(comparison).entries
    # Lines are those of its memory snapshot, which have no times.
    assert {entry.kind for entry in entries} == {"finding", "operator", "kernel", "source line"}
    assert {e.step_ns for e in entries if e.kind == "source line"} == {None}


def test_the_groups_that_became_slower_come_by_how_much():
    comparison = Comparison.open([SAMPLES / "bert" / "eager", SAMPLES / "bert" / "default"])
    groups = comparison.pairs[0].ledger.groups
    lost = [g for g in groups if g.baseline_step_ns and g.candidate_step_ns
            and g.candidate_step_ns > 1.05 * g.baseline_step_ns]  # fmt: skip
    assert lost
    entries = search_index(comparison).search("which group became slower", 8)
    assert {entry.kind for entry in entries} == {"group"}
    assert entries[0].change_ns == max(group.delta_ns for group in lost)
    changes = [entry.change_ns for entry in entries]
    assert changes == sorted(changes, reverse=True)
    faster = search_index(comparison).search("faster", 1)[0]
    assert faster.change_ns == min(group.delta_ns for group in groups if group.became == "faster")


def test_what_the_candidate_alone_does_is_slower_by_all_of_its_time():
    """ResNet-50's largest loss, 19.3 µs of copied inputs: "slower" matched nothing."""
    folder = SAMPLES / "resnet50"
    comparison = Comparison.open([folder / "eager", folder / "reduce-overhead"])
    new = [g for g in comparison.pairs[0].ledger.groups if g.kind == "only in the candidate"]
    first = search_index(comparison).search("slower", 8)[0]
    assert first.title == "_foreach_copy"
    assert first.change_ns == max(group.candidate_step_ns for group in new)
    assert "new, slower by 19.3 µs" in first.detail


def test_a_collective_is_found_as_torch_writes_it():
    """NCCL's kernels are named AllReduce: "all_reduce" matched nothing in a job of ranks."""
    kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    assert titles([a_kernel(kernel), a_kernel("reduce_kernel")], "all_reduce") == [kernel]
