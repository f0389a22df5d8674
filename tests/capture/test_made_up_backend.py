"""A made-up backend is one file: everything that knows backends knows it then."""

import json
import re
from pathlib import Path

import pytest

from profiler_core import run_directory as names
from tests.capture.conftest import TINY
from tests.copied import Copied
from tests.quick_python import variables

pytestmark = pytest.mark.torch

ENTRY = """
from __future__ import annotations

from ..backend import Backend, Documented, Option, Package


class _MadeUp(Backend):
    def load(self, device_type):
        from torch._dynamo.backends.registry import list_backends, register_backend

        if "made_up" not in list_backends(None):
            register_backend(name="made_up")(compile_graph)


def compile_graph(graph, inputs, *, options=None):
    print("made_up was given {}".format(options))
    return graph.forward


BACKEND = _MadeUp(
    name="made_up",
    package=Package("torch", "torch", "it from nowhere"),
    options=(Option("speed", "how fast it shall be", "3", "whole number"),),
    takes="declared",
    defaults={"colour": "red"},
    documented=Documented("nothing", "never", "all"),
)
"""

FORM = """
from streamlit.testing.v1 import AppTest

page = AppTest.from_file("pages/capture.py", default_timeout=300).run()
further = next(one for one in page.multiselect if one.label == "Further backends")
assert "made_up" in further.options, further.options
further.set_value(["made_up"]).run()
(field,) = [one for one in page.text_input if one.label == "Options of made_up"]
assert "`speed=3` (whole number): how fast it shall be" in field.help, field.help
field.set_value("speed=2").run()
assert not page.exception, page.exception
assert "made_up+speed=2" in page.code[0].value
"""


SCHEMA = """
import anyio
from mcp.client import Client
from profiler_core.agents.serve import server

async def tools():
    async with Client(server(allow_capture=True)) as client:
        return (await client.list_tools()).tools

(tool,) = [tool for tool in anyio.run(tools) if tool.name == "start_capture"]
assert ", made_up, " in tool.input_schema["properties"]["variants"]["description"]
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory, quick_python):
    copied = Copied(tmp_path_factory.mktemp("copied"), **variables(quick_python))
    (copied.package / "capture" / "child" / "backends" / "made_up.py").write_text(ENTRY, "utf-8")
    return copied


def test_doctor_has_its_line(product):
    answer = json.loads(product.fusionscope("doctor", "--json"))
    (line,) = [one for one in answer["findings"] if one["what"] == "backend made_up"]
    assert (line["state"], line["remedy"]) == ("yes", None)
    assert line["detail"].endswith("options: speed")


def test_agents_read_of_it(product):
    product.run("-c", SCHEMA)


def test_the_form_offers_it_with_its_options(product):
    product.run("-c", FORM)


@pytest.mark.parametrize(
    ("variant", "sentence"),
    [
        ("made_up+sped=1", "the option sped, which it does not know.\nUse one of: speed."),
        ("made_up+speed=high", "the value high, which is not a whole number.\nWrite it like speed"),
        ("unmade", "Begin with eager, torchscript, .*made_up, "),
    ],
)
def test_the_command_line_checks_it(product, variant, sentence):
    message = product.fusionscope(
        "capture", "customcnn", "--variants", f"eager,{variant}", status=2
    )
    assert "Traceback" not in message
    assert re.search(sentence, message), message


def test_the_child_sets_it_up_and_its_calls_are_one_opaque_group(product, tmp_path):
    answer = json.loads(
        product.fusionscope(
            *("capture", f"{TINY}:model", "--variants", "eager,made_up+speed=2", "--device", "cpu"),
            *("--rounds", "2", "--round-steps", "2", "--round-seconds", "0", "--steps", "2"),
            *("--no-numerics", "--no-warm-compile", "--out", tmp_path, "--json"),
        )
    )
    eager, made_up = (run["directory"] for run in answer["runs"])
    printed = (Path(made_up) / names.STDOUT).read_text("utf-8")
    assert "made_up was given {'colour': 'red', 'speed': 2}" in printed
    compared = json.loads(product.fusionscope("compare", eager, made_up, "--json"))
    (candidate,) = compared["candidates"]
    (group,) = [
        group
        for group in candidate["fusion"]["groups"]
        if any(kernel["name"] == "engine::made_up" for kernel in group["candidate_kernels"])
    ]
    assert len(group["candidate_kernels"]) == 1
    assert len(group["baseline_kernels"]) > 1
    assert "engine_opaque" in {finding["key"] for finding in candidate["findings"]}
