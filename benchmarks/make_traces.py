"""A large trace made by repeating a real one, with shifted ts, correlation and ids.

    python -m benchmarks.make_traces SOURCE TARGET --mb 200

Every copy is as real as the first: its steps get numbers of their own, its launches point at its
own kernels. The layout of the text stays what Kineto wrote.
"""

import argparse
import gzip
import re
from pathlib import Path

_ARRAY = re.compile(r'"traceEvents"\s*:\s*\[')
_TS = re.compile(r'"ts": (\d+)\.(\d{3})')
_ID = re.compile(
    r'"(correlation|External id|id|Ev Idx|Python id|Python parent id|Record function id)": (\d+)'
)
_STEP = re.compile(r'"ProfilerStep#(\d+)"')
_END = re.compile(r'"ts": (\d+)\.\d{3}, "dur": (\d+)')

# Further apart than any id of one copy.
_ID_STRIDE = 10_000_000


def repeat(source: Path, target: Path, n_bytes: int) -> int:
    """Write copies of `source` until `target` has about n_bytes; returns how many there are."""
    data = source.read_bytes()
    text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
    start = _ARRAY.search(text)
    assert start is not None
    head, rest = text[: start.end()], text[start.end() :]
    body = rest[: rest.rindex("]", 0, rest.rindex('"traceName"'))].rstrip()
    starts = [int(match[1]) for match in _TS.finditer(body)]
    ends = [int(match[1]) + int(match[2]) for match in _END.finditer(body)]
    stride_us = max(*starts, *ends) - min(starts) + 1000
    n_steps = 1 + max((int(n) for n in _STEP.findall(body)), default=0)
    n_copies = max(1, round(n_bytes / len(body)))
    with target.open("w") as file:
        file.write(head)
        for copy in range(n_copies):
            file.write("," if copy else "")
            file.write(_shifted(body, copy, stride_us, n_steps))
        file.write('\n  ],\n  "traceName": "repeated"\n}\n')
    return n_copies


def _shifted(body: str, copy: int, stride_us: int, n_steps: int) -> str:
    def number(match: re.Match[str]) -> str:
        value = int(match[2])
        return f'"{match[1]}": {value + copy * _ID_STRIDE if value > 0 else value}'

    body = _TS.sub(lambda m: f'"ts": {int(m[1]) + copy * stride_us}.{m[2]}', body)
    body = _ID.sub(number, body)
    return _STEP.sub(lambda m: f'"ProfilerStep#{int(m[1]) + copy * n_steps}"', body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--mb", type=float, default=200)
    chosen = parser.parse_args()
    copies = repeat(chosen.source, chosen.target, int(chosen.mb * 1e6))
    print(f"{copies} copies, {chosen.target.stat().st_size / 1e6:.0f} MB")
