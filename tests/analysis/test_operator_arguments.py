import pytest

from profiler_core.analysis.operator_arguments import arguments_text


@pytest.mark.parametrize(
    ("dims", "types", "text"),
    [
        ("[[8,128],[]]", '["float","Scalar"]', "8×128 float"),
        ('[["64","3"],["3"]]', '["c10::Half"]', "64×3 c10::Half · 3"),
        ("[[],[]]", None, None),
        ("[[[1,2],[3]]]", None, None),
        ("not json", None, "not json"),
        (None, None, None),
    ],
)
def test_shapes_are_read_as_people_write_them(dims, types, text):
    assert arguments_text(dims, types) == text
