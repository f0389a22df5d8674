import pytest

from profiler_core.analysis.operator_arguments import has_unsized_list, inputs_and_results


@pytest.mark.parametrize(
    ("dims", "types", "text"),
    [
        ("[[8,128],[]]", '["float","Scalar"]', "8×128 f32"),
        ('[["64","3"],["3"]]', '["c10::Half"]', "64×3 f16 · 3"),
        (
            "[[4],[2],[1]]",
            '["c10::BFloat16","long int","new::Type"]',
            "4 bf16 · 2 i64 · 1 new::Type",
        ),
        ("[[],[]]", None, None),
        ("[[[1,2],[3]]]", None, "[1×2, 3]"),
        (
            '[[["4"],[1],[],[2],[3],[5]],[8,2],[]]',
            '["TensorList","float","Scalar"]',
            "[4, 1, scalar, 2, 2 more] · 8×2 f32",
        ),
        ("not json", None, "not json"),
        (None, None, None),
    ],
)
def test_shapes_are_read_as_people_write_them(dims, types, text):
    assert inputs_and_results("", dims, types)[0] == (text or "")


@pytest.mark.parametrize(
    ("dims", "types", "lacks"),
    [
        ("[[],[],[]]", '["TensorList","TensorList","Scalar"]', True),
        ("[[[1]],[],[]]", '["TensorList","Scalar",""]', False),
        ("[[2],[]]", '["float","TensorList"]', True),
        (None, None, False),
    ],
)
def test_of_long_lists_torch_writes_no_shapes(dims, types, lacks):
    assert has_unsized_list(dims, types) is lacks
