"""Bytes of operators with lists of tensors: samples by their plain JSON, names, made-up calls."""

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from profiler_core.analysis.item import group_item, kernel_item
from profiler_core.analysis.ledger.bytes_moved import bytes_of
from profiler_core.analysis.ledger.bytes_of_lists import bytes_of_lists, item_of_lists
from profiler_core.analysis.ledger.host_rows import Row
from profiler_core.analysis.ledger.operator_call import OperatorCall
from profiler_core.analysis.ledger.work_units import parts_of
from profiler_core.analysis.operator_arguments import lists_of_shapes
from profiler_core.analysis.wording.dossier import missing_of_group, missing_of_kernel_runs
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from tests.analysis.ledger.test_bytes_moved import unit
from tests.reference import read_events

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"


def calls_of(run: Path, operator: str) -> list[list[list[int]]]:
    """What one call of an operator is handed, of all lists together: shapes, by the JSON."""
    (path,) = run.glob("trace.json*")
    return [
        [shape for given in event["args"]["Input Dims"] if given for shape in given]
        for event in read_events(path)
        if event.get("cat") == "cpu_op" and event["name"] == operator
    ]


def test_cat_reads_what_it_writes() -> None:
    """25.2 MB stood there, which it writes alone; beside 50.3 of the kernel that replaces it."""
    comparison = Comparison.open([SAMPLES / "ddp" / v for v in ("eager", "default")])
    (shapes, *others) = calls_of(SAMPLES / "ddp" / "eager", "aten::cat")
    assert all(each == shapes for each in others)
    expected = 2 * 4 * sum(map(prod, shapes))  # float32, as OpaqueType<4u> has it
    number = next(n for n, g in enumerate(comparison.pairs[0].ledger.groups) if g.title == "cat")
    before, after = dossier(comparison, group_item(1, number)).rooflines
    assert before.bytes_moved == after.bytes_moved == expected
    name = next(row.name for row in comparison.kernels if "CatArrayBatchedCopy" in row.name)
    assert "OpaqueType<4u>" in name
    (line, *_) = dossier(comparison, kernel_item(name)).rooflines
    assert line.bytes_moved == expected * 6  # six layers


@pytest.mark.parametrize("operator", ["_foreach_add", "_foreach_mul"])
def test_an_optimizer_reads_its_lists_and_writes_the_first(operator: str) -> None:
    run = SAMPLES / "simplecnn-training" / "eager"
    comparison = Comparison.open([run, run.parent / "default"])
    (shapes, *_) = calls_of(run, f"aten::{operator}_")
    n_parameters = 12
    assert len(shapes) % n_parameters == 0
    read, written = (sum(map(prod, each)) for each in (shapes, shapes[:n_parameters]))
    groups = comparison.pairs[0].ledger.groups
    number = next(n for n, group in enumerate(groups) if group.title == operator)
    made = dossier(comparison, group_item(1, number))
    expected = 4 * (read + written)
    assert [line.bytes_moved for line in made.rooflines] == [expected, expected]


EACH = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::"
)
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy"


@pytest.mark.parametrize(
    ("kernels", "item"),
    [
        ([f"{CAT}_vectorized<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int>"], 4),
        ([f"{CAT}<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 2>"], 2),
        ([f"{CAT}<double, unsigned int, 2, 64, 64>(double*"], 8),
        ([f"{CAT}<mine::Type, unsigned int>"], 0),
        ([f"{EACH}BinaryOpListAlphaFunctor<c10::Half, 2, 2, 0>, std::plus<float>, float>"], 2),
        ([f"{EACH}UnaryOpFunctor<long, 2, 1, 1>, at::native::Copy<long, long> >"], 8),
        ([f"{EACH}UnaryOpFunctor<c10::Half, 2, 1, 1>, at::native::Copy<c10::Half, float> >"], 0),
        ([f"{EACH}BinaryOpScalarFunctor<c10::complex<float>, 1, 1, 0>"], 0),
        ([f"{EACH}ZeroFunctor<float, 1, 1, 0>", f"{EACH}ZeroFunctor<double, 1, 1, 0>"], 0),
        ([f"{EACH}ZeroFunctor<float, 1, 1, 0>", "Memset (Device)"], 0),
        (["aten::cat"], 0),  # a CPU's
        ([], 0),
    ],
)
def test_the_kernel_s_name_has_the_type(kernels: list[str], item: int) -> None:
    assert item_of_lists(kernels) == item


def test_shapes_of_lists_are_told_from_others() -> None:
    dims = "[[[4,8],[]],[],[3],[[2]]]"
    types = '["TensorList","TensorList","float","ScalarList"]'
    assert lists_of_shapes(dims, types) == (((4, 8), ()), ())
    assert lists_of_shapes(None, None) == lists_of_shapes("7", '["TensorList"]') == ()


def test_what_does_not_follow_is_not_known() -> None:
    call = OperatorCall("aten::cat", (None, None), ("TensorList", "Scalar"), (), (((2, 4),),), 4)
    assert bytes_of_lists(call) == (32, 32)
    assert bytes_of_lists(replace(call, list_item=0)) is None  # no type
    assert bytes_of_lists(replace(call, lists=((),))) is None  # more than 30 tensors
    assert bytes_of_lists(replace(call, name="aten::_fused_adam_")) is None


def test_einsum_moves_what_the_calls_inside_it_do() -> None:
    """Of its own list no trace has the types; the product that it calls has them."""
    dims, types = "[[],[[3,4,5],[3,5,6]],[]]", '["","TensorList",""]'
    product = Row(0, 1, "aten::bmm", 7, None, "[[3,4,5],[3,5,6]]", '["float","float"]', False)
    whole = unit("aten::einsum", (None, None, None))
    whole.dtypes = ("", "TensorList", "")
    whole.lists = lists_of_shapes(dims, types)
    whole.events, whole.launched_in = [7], [product]
    (part,) = parts_of(whole)
    assert (part.name, part.events) == ("aten::bmm", [7])
    assert bytes_of(whole, None) == bytes_of(part, None) == (
        4 * (3 * 4 * 5 + 3 * 5 * 6), 4 * 3 * 4 * 6,
    )  # fmt: skip
    own = Row(0, 1, "aten::einsum", 7, None, dims, types, False)
    whole.launched_in = [own]
    assert bytes_of(whole, None, ((3, 4, 6), "f32")) is None


def test_lists_without_types_are_a_reason() -> None:
    why = "of lists of tensors a trace has the shapes without their types."
    known = ("has_sources", "has_module", "has_code", "has_log", "has_counters", "has_arguments")
    (sentence,) = missing_of_group(
        **dict.fromkeys(known, True), runs_compiled=False, has_traffic=False, takes_lists=True
    )
    assert sentence == f"How many bytes it moves is not known: {why}"
    told = missing_of_kernel_runs(
        has_arguments=True, has_traffic=False, has_counters=True, is_generated=False,
        has_code=False, has_occupancy=True, takes_lists=True,
    )  # fmt: skip
    assert told == (f"Bytes against the roofline are not known: {why}",)
