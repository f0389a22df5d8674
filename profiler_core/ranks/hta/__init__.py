"""HolisticTraceAnalysis on our columns, each of its answers beside our own number.

HTA's loader is never used: on traces of torch.compile it takes host operators with a `stream`
argument for GPU work, knows few launch calls, and rounds times. What HTA gets is made here.
"""
