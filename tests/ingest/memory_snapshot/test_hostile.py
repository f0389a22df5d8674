"""Hostile and damaged pickles: each is refused with one sentence, and nothing is executed."""

import builtins
import collections
import gzip
import io
import json
import os
import pickle
import random
import struct
import subprocess
import sys

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.memory_snapshot.open import MODULE, load_cached, open_snapshot
from profiler_core.ingest.memory_snapshot.tables import tables_of
from profiler_core.ingest.memory_snapshot.unpickle import plain_objects

from .snapshots import SNAPSHOT, a_snapshot, pickled

OPEN, CLOSE = b"\x80\x04}\x94\x8c\x08segments\x94", b"s."
TEN_GB = 10 << 30


class Calls:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


class Plain:
    """Pickles by NEWOBJ and BUILD."""

    def __init__(self):
        self.x = 1


class Persistent(pickle.Pickler):
    def persistent_id(self, obj):
        return "elsewhere" if obj == "anything" else None


def within(value, protocol=4):
    return pickled(a_snapshot(segments=[value]), protocol)


def by_protocols(value):
    return [within(value, protocol) for protocol in (2, 3, 4, 5)]


def persistent():
    file = io.BytesIO()
    Persistent(file, protocol=4).dump(a_snapshot(segments=["anything"]))
    return file.getvalue()


CALLS = [
    *by_protocols(Calls(os.system, "touch pwned")),
    *by_protocols(Calls(builtins.eval, "open('pwned', 'w')")),
    *by_protocols(Calls(subprocess.Popen, ["touch", "pwned"])),
    *by_protocols(Plain()),
    *by_protocols(collections.OrderedDict(a=1)),
    # A tensor, as torch.save writes it, without torch.
    OPEN + b"ctorch._utils\n_rebuild_tensor_v2\n(tR" + CLOSE,
    OPEN + b"\x8c\x05torch\x8c\x0aload_state\x93)R" + CLOSE,
    OPEN + b"(ios\nsystem\n" + CLOSE,  # INST
    OPEN + b"(cos\nsystem\nX\x05\x00\x00\x00touch" + b"o" + CLOSE,  # OBJ
    OPEN + b"\x82\x01" + CLOSE,  # EXT1
    OPEN + b"\x83\x01\x00" + CLOSE,  # EXT2
    OPEN + b"\x84\x01\x00\x00\x00" + CLOSE,  # EXT4
    persistent(),
    OPEN + b"Pelsewhere\n" + CLOSE,  # PERSID
    OPEN + b"}}b" + CLOSE,  # BUILD alone
    OPEN + b"))R" + CLOSE,  # REDUCE alone
    OPEN + b"))\x81" + CLOSE,  # NEWOBJ alone
    OPEN + b")})\x92" + CLOSE,  # NEWOBJ_EX alone
    OPEN + b"\x97" + CLOSE,  # NEXT_BUFFER
    OPEN + b"\x8f" + CLOSE,  # a set: not what a snapshot is made of
]

CLAIMS = {
    "bytes": OPEN + b"\x8e" + struct.pack("<Q", TEN_GB) + b"x" + CLOSE,
    "a bytearray": OPEN + b"\x96" + struct.pack("<Q", TEN_GB) + b"x" + CLOSE,
    "a string": OPEN + b"\x8d" + struct.pack("<Q", TEN_GB) + b"x" + CLOSE,
    "an integer": OPEN + b"\x8b" + struct.pack("<i", 1 << 30) + b"x" + CLOSE,
    "a negative length": OPEN + b"\x8b" + struct.pack("<i", -1) + b"x" + CLOSE,
    "a frame": b"\x80\x04\x95" + struct.pack("<Q", TEN_GB) + OPEN[2:] + b"]" + CLOSE,
    "a memo": OPEN + b"]r" + struct.pack("<I", 0xFFFFFFF0) + CLOSE,
}


def refused(data):
    """The one sentence."""
    with pytest.raises(BadInput) as caught:
        tables_of(plain_objects(data, "evil.pickle"), "evil.pickle", 10_000)
    sentence = caught.value.problem
    assert sentence.startswith("evil.pickle ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 300
    return sentence


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_what_could_call_is_refused_and_not_called(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentence = refused(CALLS[number])
    assert "import" in sentence or "instruction" in sentence
    assert list(tmp_path.iterdir()) == []


def test_the_sentence_names_what_was_asked_for():
    assert "“posix.system”" in refused(within(Calls(os.system, "true")))
    assert "eval”" in refused(within(Calls(builtins.eval, "1"), 2))


@pytest.mark.parametrize("what", CLAIMS)
def test_a_claim_of_gigabytes_is_refused_before_memory_is_asked_for(what):
    refused(CLAIMS[what])


def test_recursion_ends():
    nested = b"]" * 200_000 + b"a" * 199_999
    assert "is list" in refused(b"\x80\x04" + nested + b".")
    assert "should be a dict" in refused(OPEN + nested + CLOSE)
    tuples = b")" + b"\x85" * 200_000
    assert "should be a dict" in refused(OPEN + tuples + CLOSE)


def test_things_that_hold_themselves_end():
    itself = []
    itself.append(itself)
    assert "should be a dict and is list" in refused(pickled(a_snapshot(segments=itself)))
    loop = {}
    loop["segments"] = loop
    assert "should be a list and is dict" in refused(pickled(loop))
    segment = a_snapshot()["segments"][0]
    segment["blocks"] = [segment]
    segment["frames"] = segment["blocks"]
    tables_of(plain_objects(pickled(a_snapshot(segments=[segment])), "x"), "x")  # three levels deep


def test_a_million_laughs_are_counted():
    laughs = [a_snapshot()["device_traces"][0][0]] * 1000
    sentence = refused(pickled(a_snapshot(device_traces=[laughs] * 1000)))
    assert "more than 10,000 objects" in sentence
    frames = [{"name": "f", "filename": "x.py", "line": 1}] * 100_000
    event = {"action": "alloc", "addr": 1, "size": 1, "frames": frames}
    assert "more than 10,000" in refused(pickled(a_snapshot(device_traces=[[event] * 1000])))


def test_every_beginning_of_a_snapshot_is_refused():
    whole = pickled(SNAPSHOT)
    for length in range(len(whole)):
        refused(whole[:length])
    tables_of(plain_objects(whole, "x"), "x")


def test_a_changed_byte_gives_a_snapshot_or_a_sentence():
    whole = bytearray(pickled(SNAPSHOT, 2))
    chance = random.Random(0)
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            tables_of(plain_objects(bytes(damaged), "evil.pickle"), "evil.pickle")
        except BadInput as error:
            assert "\n" not in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        [1, 2], "text", 5, None, {}, {"segments": 5}, {"segments": [5]},
        {"device_traces": {"a": 1}}, {"device_traces": [[{"addr": "x"}]]},
        {"segments": [{"address": -1}]}, {"segments": [{"address": 1 << 80}]},
        {"device_traces": [[{"action": 5}]]}, {"segments": [{"segment_pool_id": 5}]},
        {"device_traces": [[{"frames": 5}]]}, {"device_traces": [[{"frames": [5]}]]},
    ],
)  # fmt: skip
def test_plain_data_that_is_no_snapshot(wrong):
    refused(pickled(wrong))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80", b"\x80\x04", b".", b"hello", b"\x80\x04.", b"\x80\x04N.x", b"\x80\x04\xff."],
)
def test_no_pickle_at_all(data):
    refused(data)


# -- through the door: the process, its limits, packing -----------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path


def test_the_door_refuses_too_and_leaves_nothing(home, monkeypatch):
    file = home / "evil.pickle"
    file.write_bytes(within(Calls(os.system, f"touch {home}/pwned")))
    with pytest.raises(BadInput, match="asks to import") as caught:
        open_snapshot(file)
    assert caught.value.remedy.startswith("Pass a file that")
    assert not (home / "pwned").exists()
    assert load_cached(file) is None


def test_a_gzip_bomb_is_refused(home):
    file = home / "bomb.pickle.gz"
    file.write_bytes(gzip.compress(pickled(SNAPSHOT)[:2] + bytes(200 << 20)))
    with pytest.raises(BadInput, match="unpacks to too much"):
        open_snapshot(file)


def test_a_cut_gzip_is_refused(home):
    file = home / "cut.pickle.gz"
    file.write_bytes(gzip.compress(pickled(SNAPSHOT))[:-20])
    with pytest.raises(BadInput, match="compressed data ends early"):
        open_snapshot(file)


def test_a_missing_file_is_a_sentence(home):
    with pytest.raises(BadInput, match="cannot be read"):
        open_snapshot(home / "absent.pickle")


@pytest.mark.skipif(sys.platform != "linux", reason="address-space limits are enforced on Linux")
def test_the_process_has_a_limit_of_memory(home):
    # 25 MB of instructions that make 25 million empty dicts: 1.6 GB.
    file = home / "dicts.pickle"
    file.write_bytes(b"\x80\x04}\x8c\x08segments](" + b"}" * 25_000_000 + b"es.")
    finished = subprocess.run(
        [sys.executable, "-m", MODULE, str(file)], capture_output=True, timeout=120, check=False
    )
    said = json.loads(finished.stdout)
    assert finished.returncode == 2
    assert "memory" in said["problem"] or "more than" in said["problem"]
