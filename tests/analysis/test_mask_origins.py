"""Where a mask comes from: graphs as torch 2.15's Dynamo prints them, of a module with each kind.

The module hands `scaled_dot_product_attention` a mask that is made, passed, kept or learned.
"""

import pytest

from profiler_core.analysis.ledger.result import FusionGroup, GroupSide
from profiler_core.analysis.mask_origins import MakingLine, MaskOrigin, mask_origin
from profiler_core.analysis.wording.masks import origin_sentence, without_mask
from profiler_core.ingest.inductor.graphs import placeholder_names, read_graph, written_parts
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, InductorLog

MADE = """\
    def forward(self, L_q_: "f32[1, 1, 4, 8]"):
        l_q_ = L_q_
        # File: /home/me/model.py:10 in forward, code: m=torch.full((4,4),float("-inf")).triu(1)
        full: "f32[4, 4]" = torch.full((4, 4), -inf)
        m: "f32[4, 4]" = full.triu(1);  full = None
"""
OF_SIZES = """\
    def forward(self, s77: "Sym(s77)", L_q_: "f32[1, 1, 4, s77]"):
        l_q_ = L_q_
        # File: /home/me/model.py:24 in forward, code: m=torch.ones_like(q[0,0,:,:1]).expand(4,4)
        getitem: "f32[4, 1]" = l_q_[(0, 0, slice(None, None, None), slice(None, 1, None))]
        ones_like: "f32[4, 1]" = torch.ones_like(getitem);  getitem = None
        m: "f32[4, 4]" = ones_like.expand(4, 4);  ones_like = None
"""
OF_TOKENS = """\
    def forward(self, L_input_ids_: "i64[1, 4]"):
        l_input_ids_ = L_input_ids_
        # File: /x/site-packages/esm/model.py:7 in forward, code: mask = input_ids != 1
        m: "b8[1, 4]" = l_input_ids_ != 1;  l_input_ids_ = None
"""
INPUT = """\
    def forward(self, L_attention_mask_: "f32[1, 4]", L_q_: "f32[1, 1, 4, 8]"):
        l_attention_mask_ = L_attention_mask_
        l_q_ = L_q_
        # File: /home/me/model.py:12 in forward, code: m=attention_mask[:,None,None,:].bool()
        getitem: "f32[1, 1, 1, 4]" = l_attention_mask_[(slice(None, None, None), None, None, \
slice(None, None, None))];  l_attention_mask_ = None
        m: "b8[1, 1, 1, 4]" = getitem.bool();  getitem = None
"""
WRITTEN_IN = """\
    def forward(self, L_attention_mask_: "f32[1, 4]", L_q_: "f32[1, 1, 4, 8]"):
        l_attention_mask_ = L_attention_mask_
        l_q_ = L_q_
        # File: /home/me/model.py:14 in forward, code: m=torch.full((1,1,4,4),float("-inf"))
        m: "f32[1, 1, 4, 4]" = torch.full((1, 1, 4, 4), -inf)
        # File: /home/me/model.py:16 in forward, code: m[:,:,:,:4]=m[:,:,:,:4].masked_fill(
        getitem: "f32[1, 1, 4, 4]" = m[(slice(None, None, None), slice(None, 4, None))]
        getitem_1: "f32[1, 1, 1, 4]" = l_attention_mask_[(slice(None, None, None), None)];  \
l_attention_mask_ = None
        eq: "b8[1, 1, 1, 4]" = getitem_1 == 0;  getitem_1 = None
        masked_fill: "f32[1, 1, 4, 4]" = getitem.masked_fill(eq, -1.0);  getitem = eq = None
        m[(slice(None, None, None), slice(None, 4, None))] = masked_fill;  setitem = m;  \
masked_fill = setitem = None
"""
IN_PLACE = INPUT.replace("        m: ", "        padding: ") + (
    '        m: "f32[4, 4]" = torch.zeros(4, 4)\n'
    '        masked_fill_: "f32[4, 4]" = m.masked_fill_(padding, -1.0);  masked_fill_ = None\n'
)
DIRECT = """\
    def forward(self, L_stack0_: "b8[1, 1, 4, 4]", L_q_: "f32[1, 1, 4, 8]"):
        l_stack0_ = L_stack0_
        m: "b8[1, 1, 4, 4]" = l_stack0_.expand(1, 1, 4, 4);  l_stack0_ = None
"""
BUFFER = """\
    def forward(self, L_self_buffers_bias_: "b8[4, 4]", L_q_: "f32[1, 1, 4, 8]"):
        l_self_buffers_bias_ = L_self_buffers_bias_
        # File: /home/me/model.py:18 in forward, code: m=self.bias[None,None,:4,:4]
        m: "b8[1, 1, 4, 4]" = l_self_buffers_bias_[(None, None, slice(None, 4, None), \
slice(None, 4, None))];  l_self_buffers_bias_ = None
"""
PARAMETER = """\
    def forward(self, L_self_parameters_table_: "f32[7]", L_q_: "f32[1, 1, 4, 8]"):
        l_self_parameters_table_ = L_self_parameters_table_
        # File: /home/me/model.py:20 in forward, code: m=self.table[torch.arange(4)[:,None]
        arange: "i64[4]" = torch.arange(4)
        m: "f32[4, 4]" = l_self_parameters_table_[arange];  arange = None
"""
CONSTANT = """\
    def forward(self, L_q_: "f32[1, 1, 4, 8]"):
        bias = self.L__self___bias
        m: "b8[4, 4]" = bias[slice(None, 4, None)];  bias = None
"""
OF_ANOTHER_PART = """\
    def forward(self, L_q_: "f32[1, 1, 4, 8]"):
        l_q_ = L_q_
"""

TRIU = MakingLine("model.py:10", 'm=torch.full((4,4),float("-inf")).triu(1)', "")
ORIGINS = {
    MADE: MaskOrigin("made", (), (TRIU,)),
    OF_SIZES: MaskOrigin(
        "made", (), (MakingLine("model.py:24", "m=torch.ones_like(q[0,0,:,:1]).expand(4,4)", ""),)
    ),
    OF_TOKENS: MaskOrigin(
        "made", ("input_ids",), (MakingLine("model.py:7", "mask = input_ids != 1", "esm"),)
    ),
    INPUT: MaskOrigin("input", ("attention_mask",)),
    WRITTEN_IN: MaskOrigin("input", ("attention_mask",)),
    IN_PLACE: MaskOrigin("input", ("attention_mask",)),
    DIRECT: MaskOrigin("input", ("stack0",)),
    BUFFER: MaskOrigin("buffer", ("bias",)),
    PARAMETER: MaskOrigin("parameter", ("table",)),
    CONSTANT: None,
    OF_ANOTHER_PART: None,
}


def graph(text: str) -> CompiledGraph:
    attention = (
        '        attended: "f32[1, 1, 4, 8]" = torch._C._nn.scaled_dot_product_attention('
        "l_q_, l_q_, l_q_, attn_mask = m);  l_q_ = m = None\n"
    )
    call = GeneratedCall(0, "extern_kernels.bmm", "library", 1, post_nodes=("bmm",))
    return CompiledGraph(
        "0/0",
        "inference",
        (call,),
        read_graph(text + attention),
        post_to_pre={"bmm": ("attended",)},
        placeholders=placeholder_names(text),
        written_parts=written_parts(text),
    )


def origin(*texts: str) -> MaskOrigin | None:
    calls = tuple((number, 0) for number, _ in enumerate(texts))
    group = FusionGroup("matched", "forward", GroupSide(), GroupSide(calls=calls))
    return mask_origin(InductorLog(tuple(map(graph, texts))), [group])


@pytest.mark.parametrize(("text", "expected"), ORIGINS.items())
def test_each_origin(text: str, expected: MaskOrigin | None) -> None:
    assert origin(text) == expected


def test_masks_of_several_origins_have_none_that_is_said() -> None:
    assert origin(MADE, MADE) == ORIGINS[MADE]
    assert origin(MADE, INPUT) is None
    assert mask_origin(None, []) is None and origin_sentence(None) == ""


@pytest.mark.parametrize(
    ("text", "told", "advice"),
    [
        (INPUT, "from an argument of the graph: attention_mask.", "pass attention_mask=None where"),
        (DIRECT, "from an argument of the graph: stack0.", "pass none where"),
        (BUFFER, "from a buffer of the graph: bias.", "do not hand bias to attention"),
        (PARAMETER, "from a parameter of the graph: table.", "compute it by flex_attention."),
        (MADE, "from none of its arguments, by model.py:10 (", "skip model.py:10 where no"),
        (OF_TOKENS, "from input_ids, by model.py:7 (", "or try a newer version of esm."),
        (CONSTANT, "", "if you pass it; if the code makes it while it is traced, skip that there."),
    ],
)
def test_what_is_said_and_advised(text: str, told: str, advice: str) -> None:
    assert told in origin_sentence(origin(text))
    assert advice in without_mask(origin(text))
    assert ("=None" in without_mask(origin(text))) == (text == INPUT)
