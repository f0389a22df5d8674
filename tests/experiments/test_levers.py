"""Which levers fit, and what the pasted code of a setting says."""

from types import SimpleNamespace

import pytest

from profiler_core.analysis.compilation.causes import BREAK_ROWS
from profiler_core.analysis.experiment.choice import variant_of, without
from profiler_core.analysis.finding_rules.facts import Finding
from profiler_core.analysis.what_if.change import LEVERS as CHANGES
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.errors import BadInput
from profiler_core.experiments.lever import LEFT_ALONE
from profiler_core.experiments.levers import (
    BY_NAME,
    CALLS,
    LEVERS,
    check_names,
    config_keys,
    fitting,
    setting_of,
)
from profiler_core.experiments.machine import Machine
from profiler_core.experiments.pasted import code_of
from profiler_core.experiments.predicted import gains, levers_for
from profiler_core.experiments.request import is_left_alone, new_experiment, spec_of
from profiler_core.experiments.running import _machine_of
from profiler_core.model.run import Compiled

HAS_ALL = dict.fromkeys(config_keys(), "by itself")


def machine(**changes):
    about = {"on_gpu": True, "trains": False, "torch": "2.15.0", "config": HAS_ALL, "n_cores": 8}
    return Machine(**{**about, **changes})


def words(choices):
    return {choice.word for choice in choices}


def test_each_word_makes_a_variant_and_is_read_back_as_its_lever():
    for lever in LEVERS:
        for word in lever.values(machine(first_threads=(0, 2))):
            setting = ((lever.name, word),)
            label = parse_variant(variant_of(setting)).label
            assert word.partition("+")[0] in label
            if "+" not in word:
                assert setting_of(variant_of(setting)) == setting


def test_what_findings_call_for_are_levers_and_changes_that_exist():
    of_breaks = {row.cause.setting for row in BREAK_ROWS if row.cause.setting}
    assert of_breaks <= set(CALLS) <= {*CHANGES, *of_breaks, "recompiles"}
    for calls in CALLS.values():
        for name, word in calls:
            assert not word or word in BY_NAME[name].words


def test_a_lever_that_does_not_fit_says_why():
    choices, unfit = fitting(machine(on_gpu=False, first_threads=(0, 1)))
    why = {entry.lever: entry.why for entry in unfit}
    assert "reduce-overhead" not in words(choices)
    assert "threads=8" in words(choices)
    assert why["combo_kernels"] == "it is for GPUs, and this runs on the CPU"
    assert why["optimizer"] == "it is for training, and a step here is inference"
    _, unfit = fitting(machine(trains=True, config={}, categories=frozenset(("gemm",))))
    why = {entry.lever: entry.why for entry in unfit}
    assert why["combo_kernels"] == "torch 2.15.0 does not have it"
    assert why["channels_last"] == "nothing here is a convolution"
    assert why["threads"] == "it is for the CPU, and this runs on a GPU"


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("mode=max-autotune", ("mode", "max-autotune")),
        ("reduce-overhead", ("mode", "reduce-overhead")),
        ("precision=tf32", ("precision", "tf32")),
        ("target=blocks", ("scope", "target=blocks")),
        ("scope=target=blocks", ("scope", "target=blocks")),
        ("recompile_limit=32", ("recompile_limit", "dynamo.recompile_limit=32")),
        ("threads=3", ("threads", "threads=3")),
        ("optimizer=foreach", ("optimizer", "optimizer=foreach")),
        ("freezing=true", ("freezing", "freezing=true")),
        ("epilogue_fusion=true", ("epilogue_fusion", "epilogue_fusion=true")),
        ("max_fusion_size=8", ("max_fusion_size", "max_fusion_size=8")),
    ],
)
def test_one_value_of_a_lever_is_asked_for(name, choice):
    """`mode=max-autotune` was taken for an option of Inductor, and nothing was tried."""
    (chosen,), unfit = fitting(machine(), (name,))
    assert ((chosen.lever, chosen.word), unfit) == (choice, ())
    assert parse_variant(variant_of((choice,)))


def test_a_value_that_a_lever_cannot_have_is_refused():
    with pytest.raises(BadInput, match="The lever mode has no value 'fastest'") as refused:
        check_names(("mode=fastest",))
    assert "max-autotune-no-cudagraphs" in refused.value.remedy
    with pytest.raises(BadInput, match="no lever 'speed'"):
        check_names(("speed",))


def test_what_compiles_itself_is_given_no_argument_of_torch_compile():
    """Modes and options of Inductor were tried on code whose calls got none of them."""
    left_alone = machine(is_left_alone=True, trains=True, asked=None, first_threads=(0, 2))
    choices, unfit = fitting(left_alone)
    assert words(choices) >= {"bf16-autocast", "channels_last", "regions=nested", "optimizer=fused"}
    reach = {"precision", "channels_last", "scope", "optimizer", "sdpa", "compiled_autograd"}
    assert {choice.lever for choice in choices if not BY_NAME[choice.lever].config} <= reach
    assert not any(parse_variant(f"default+{word}").target for word in words(choices))
    why = {entry.lever: entry.why for entry in unfit}
    assert why["mode"] == why["combo_kernels"] == LEFT_ALONE
    _, (own,) = fitting(left_alone, ("max_fusion_size=8",))
    assert own.why == LEFT_ALONE
    graphs = finding("launch_bound", "graph_replay", 1.0)
    assert levers_for(graphs, is_left_alone=True) == ()
    half = finding("half_precision", "half_precision", 1.0)
    assert levers_for(half, is_left_alone=True) == ("precision",)


def test_what_starts_as_the_script_compiles_itself_stays_so():
    """Beside `reduce-overhead` alone the baseline was the script as it compiles itself."""
    spec = CaptureSpec(workload="net.py:build")
    asked = new_experiment(spec, budget_s=100.0, start="as-is+bf16-autocast")
    assert asked.start == (("precision", "bf16-autocast"),)
    assert spec_of(asked).compile_target == ("as-is",)
    assert is_left_alone(spec_of(asked), asked)
    assert not is_left_alone(spec, new_experiment(spec, budget_s=100.0))


def test_a_value_for_gpus_says_so_on_a_cpu():
    choices, (unfit,) = fitting(machine(on_gpu=False), ("precision=tf32",))
    assert (choices, unfit.why) == ((), "it is for GPUs, and this runs on the CPU")


def test_an_option_that_torch_has_by_itself_is_not_tried():
    _, unfit = fitting(machine(config={**HAS_ALL, "inductor.combo_kernels": True}))
    assert "torch 2.15.0 does it by itself" in {entry.why for entry in unfit}


def test_dynamo_is_told_more_only_where_a_finding_calls_for_it():
    scalar = "dynamo.capture_scalar_outputs=true"
    assert scalar not in words(fitting(machine(asked=frozenset()))[0])
    called = machine(asked=frozenset(("capture_scalar_outputs",)))
    assert scalar in words(fitting(called)[0])
    assert scalar in words(fitting(machine(asked=frozenset()), ("capture_scalar_outputs",))[0])


def test_collectives_are_reordered_only_where_exposed_transfers_call_for_it():
    reordered = "reorder_for_compute_comm_overlap=true"
    assert reordered not in words(fitting(machine(asked=frozenset()))[0])
    called = machine(asked=frozenset(("hidden_transfers",)))
    assert reordered in words(fitting(called)[0])
    exposed = finding("exposed_transfer", "hidden_transfers", 500.0)
    assert levers_for(exposed)[0] == "reorder_for_compute_comm_overlap"
    (gain,) = gains([exposed], fitting(called)[0])
    assert (gain.word, gain.high_ns, gain.at_most) == (reordered, 500.0, True)


EXCHANGE = ("bucket_cap_mb", "prefetch", "compiled_autograd", "NCCL_MAX_CTAS", "NCCL_MIN_CTAS")


def job(**changes):
    return machine(**{"n_ranks": 2, "parallel": "ddp", "trains": True, **changes})


def test_how_ranks_exchange_is_tried_where_a_finding_calls_for_it():
    assert not words(fitting(job(asked=frozenset()))[0]) & words(fitting(job(), EXCHANGE)[0])
    called = fitting(job(asked=frozenset(("other_buckets",))))[0]
    tried = {choice.lever for choice in called} & set(EXCHANGE)
    assert tried == {"bucket_cap_mb", "compiled_autograd", "NCCL_MIN_CTAS"}
    buckets = finding("exposed_transfer", "other_buckets", 500.0)
    assert levers_for(buckets) == ("bucket_cap_mb", "compiled_autograd", "NCCL_MIN_CTAS")
    slowed = finding("slowed_by_transfers", "fewer_transfers", 500.0)
    assert levers_for(slowed) == ("NCCL_MAX_CTAS", "bucket_cap_mb")
    sharded = finding("exposed_transfer", "gathered_ahead", 500.0)
    assert "prefetch" in levers_for(sharded)


@pytest.mark.parametrize(
    ("changes", "unfit"),
    [
        ({}, {"prefetch": "it is of FSDP2, and ranks share the work otherwise here"}),
        (
            {"parallel": "fsdp", "on_gpu": False},
            {
                "bucket_cap_mb": "it is of DistributedDataParallel, and ranks share the work "
                "otherwise here",
                "NCCL_MAX_CTAS": "it is NCCL's, and ranks talk by gloo here",
                "NCCL_MIN_CTAS": "it is NCCL's, and ranks talk by gloo here",
            },
        ),
        ({"parallel": None}, {}),  # the user's own code: a variant that cannot obey says so
        (
            {"parallel": None, "n_ranks": 1, "on_gpu": False},
            dict.fromkeys(
                ("bucket_cap_mb", "prefetch", "NCCL_MAX_CTAS", "NCCL_MIN_CTAS"),
                "it is for several ranks, and this is one process",
            ),
        ),
    ],
)
def test_how_ranks_exchange_fits_jobs_that_exchange_so(changes, unfit):
    told = fitting(job(**changes), EXCHANGE)[1]
    assert {entry.lever: entry.why for entry in told} == unfit


@pytest.mark.parametrize(
    ("workload", "ranks", "expected"),
    [("fsdp", 4, (4, "fsdp")), ("model.py:build", 2, (2, None)), ("customcnn", None, (1, None))],
)
def test_how_the_ranks_of_a_workload_share_its_work(workload, ranks, expected):
    interpreter = SimpleNamespace(torch="2.15.0", settings={})
    made = _machine_of(CaptureSpec(workload, ranks=ranks), interpreter, "cpu")
    assert (made.n_ranks, made.parallel) == expected


def test_compiled_autograd_takes_the_reducer_in_python_where_ddp_sums_gradients():
    (ddp,) = words(fitting(job(), ("compiled_autograd",))[0])
    (tp,) = words(fitting(job(parallel="tp"), ("compiled_autograd",))[0])
    assert ddp == "dynamo.optimize_ddp=python_reducer+dynamo.compiled_autograd=true"
    assert tp == "dynamo.compiled_autograd=true"


def finding(key, lever, most_ns, **more):
    about = {"title": key, "evidence": "", "advice": "", "page": "overview"}
    bound = Prediction.at_most(most_ns, "unprofiled", "nobody knows")
    return Finding(key, **about, change=Change(lever), **{"prediction": bound, **more})


def test_gains_come_from_the_predictions_of_findings():
    choices, _ = fitting(machine())
    predicted = Prediction(300.0, 200.0, 350.0, "simulated", "unprofiled")
    made = gains(
        [
            finding("launch_bound", "graph_replay", 500.0, prediction=predicted),
            finding("half_precision", "half_precision", 800.0),
        ],
        choices,
    )
    by_word = {gain.word: gain for gain in made}
    replay, half = by_word["reduce-overhead"], by_word["bf16-autocast"]
    assert (replay.gain_ns, replay.low_ns, replay.high_ns) == (300.0, 200.0, 350.0)
    assert (half.gain_ns, half.high_ns, half.at_most) == (400.0, 800.0, True)
    assert "max-autotune" not in by_word
    # Joined kernels replace some launches, a replay all: the same number is the most.
    joined = by_word["combo_kernels=true"]
    assert (joined.gain_ns, joined.low_ns, joined.high_ns, joined.at_most) == (
        300.0, None, 350.0, True,
    )  # fmt: skip
    assert not replay.at_most
    assert [gain.gain_ns for gain in made] == sorted((g.gain_ns for g in made), reverse=True)


def test_a_finding_names_its_levers_and_those_of_its_alternatives():
    half = finding("half_precision", "half_precision", 1.0)
    tf32 = finding("tf32_off", "tf32", 2.0, alternatives=(half,))
    assert levers_for(tf32) == ("precision",)
    assert levers_for(finding("synchronisations", "no_syncs", 1.0)) == ()


def test_breaks_call_for_the_settings_of_their_causes_alone():
    """Where a tensor's value decides a branch, the setting was tried, and the break stayed."""
    predicted = Prediction(300.0, 200.0, 350.0, "simulated", "unprofiled")
    scalar = "capture_scalar_outputs"

    def breaks(*settings):
        return finding("graph_breaks", "no_breaks", 1.0, settings=settings, prediction=predicted)

    assert levers_for(breaks("")) == ()
    assert levers_for(breaks("", scalar)) == (scalar,)
    choices, _ = fitting(machine(asked=frozenset((scalar,))))
    (whole,), (part,) = gains([breaks(scalar)], choices), gains([breaks("", scalar)], choices)
    assert (whole.at_most, part.at_most, part.high_ns) == (False, True, 350.0)


def test_a_finding_that_would_lose_calls_for_no_lever():
    loss = Prediction(-300.0, -350.0, 200.0, "simulated", "unprofiled")
    losing = finding("tf32_off", "tf32", 2.0, prediction=loss)
    assert levers_for(losing) == ()
    graphs = finding("launch_bound", "graph_replay", 1.0, alternatives=(losing,))
    assert levers_for(graphs) == ("mode", "combo_kernels")


@pytest.mark.parametrize(
    ("variant", "lines"),
    [
        ("default", ["model = torch.compile(model)"]),
        ("max-autotune", ['model = torch.compile(model, mode="max-autotune")']),
        ("default+freezing=true", ['model = torch.compile(model, options={"freezing": True})']),
        ("default+dynamic", ["model = torch.compile(model, dynamic=True)"]),
        (
            "default+bf16-autocast",
            ['with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):'],
        ),
        ("default+tf32", ['torch.set_float32_matmul_precision("high")']),
        ("default+threads=4", ["torch.set_num_threads(4)"]),
        ("default+dynamo.recompile_limit=64", ["torch._dynamo.config.recompile_limit = 64"]),
        (
            "default+NCCL_MAX_CTAS=4",
            ['os.environ["NCCL_MAX_CTAS"] = "4"  # before init_process_group'],
        ),
        (
            "default+bucket_cap_mb=100",
            ["model = torch.nn.parallel.DistributedDataParallel(", "    model, bucket_cap_mb=100"],
        ),
        ("default+channels_last", ["model = model.to(memory_format=torch.channels_last)"]),
        (
            "max-autotune+coordinate_descent_tuning=true",
            [
                '    options={**list_mode_options("max-autotune"), '
                '"coordinate_descent_tuning": True},'
            ],
        ),
    ],
)  # fmt: skip
def test_the_pasted_code_says_what_the_variant_says(variant, lines):
    code = code_of(setting_of(variant), on_gpu=True, trains=False)
    compile(code, "pasted", "exec")
    assert set(lines) <= set(code.splitlines())


def blocks(*paths):
    return Compiled(where="modules", modules=paths)


def test_pasted_blocks_are_those_that_were_compiled():
    """It named `model.layers`, which the model had not."""
    setting = setting_of("default+target=blocks")
    told = {"on_gpu": False, "trains": False}
    code = code_of(setting, **told, compiled=blocks("trunk.0", "trunk.1", "trunk.2"))
    assert 'for path in (f"trunk.{n}" for n in range(3)):' in code.splitlines()
    assert "    model.get_submodule(path).compile()" in code.splitlines()
    for modules in (("down.1", "up.0"), ("h.1", "h.2"), ("mid",)):
        compiled = []
        model = SimpleNamespace(
            get_submodule=lambda path, compiled=compiled: SimpleNamespace(
                compile=lambda: compiled.append(path)
            )
        )
        lines = code_of(setting, **told, compiled=blocks(*modules)).split("\nwith ")[0]
        exec(lines, {"model": model})
        assert tuple(compiled) == modules


def test_a_setting_without_a_lever():
    setting = setting_of("max-autotune+bf16-autocast+channels_last")
    assert variant_of(without(setting, "mode")) == "default+bf16-autocast+channels_last"


def test_what_asks_for_channels_last_asks_not_for_layouts_as_they_are_given():
    """`layout_optimization=false` is what keeps Inductor from choosing channels_last itself."""
    assert [name for name, _ in CALLS["channels_last"]] == ["channels_last"]
