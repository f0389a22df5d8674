"""A made-up option of a capture is one declaration: every surface has it then."""

import re

import pytest

from tests.copied import Copied

DECLARATION = """
    cooling: float = option(
        1.5, group=_HOW, least=0, step=0.5, unit="s", help="rest of the device between two rounds"
    )
"""

SPEC = """
import argparse

from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace

spec = CaptureSpec("bert", cooling=2.0)
assert spec.to_argv() == ["bert", "--variants", "eager,default", "--cooling=2.0"], spec.to_argv()
assert CaptureSpec("bert").to_argv() == ["bert", "--variants", "eager,default"]
parser = argparse.ArgumentParser()
add_spec_arguments(parser)
assert spec_from_namespace(parser.parse_args(spec.to_argv())) == spec
assert spec.to_dict()["cooling"] == 2.0
"""

SCHEMA = """
import anyio
from mcp.client import Client
from profiler_core.agents import capturing
from profiler_core.agents.serve import server

asked = []
capturing.jobs.submit = lambda command, **more: asked.append(command) or "job-1"

async def talk():
    async with Client(server(allow_capture=True)) as client:
        tools = (await client.list_tools()).tools
        await client.call_tool("start_capture", {"workload": "bert", "cooling": 4})
        return tools

(tool,) = [tool for tool in anyio.run(talk) if tool.name == "start_capture"]
schema = tool.input_schema["properties"]["cooling"]
assert schema.items() >= {
    "type": "number", "minimum": 0, "default": 1.5,
    "description": "rest of the device between two rounds",
}.items(), schema
assert "--cooling=4.0" in asked[0], asked
"""

FORM = """
from streamlit.testing.v1 import AppTest

page = AppTest.from_file("pages/capture.py", default_timeout=300).run()
(field,) = [one for one in page.number_input if one.label == "Cooling"]
assert (field.value, field.min, field.step) == (1.5, 0.0, 0.5)
assert field.help == "Rest of the device between two rounds."
assert "--cooling" not in page.code[0].value
field.set_value(3.0).run()
assert not page.exception, page.exception
assert "--cooling=3.0" in page.code[0].value
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    copied = Copied(tmp_path_factory.mktemp("copied"))
    path = copied.package / "capture" / "spec.py"
    text, n = re.subn(
        r"(?=\n    def __post_init__)", lambda _: DECLARATION, path.read_text("utf-8")
    )
    assert n == 1
    path.write_text(text, "utf-8")
    return copied


def test_the_command_line_has_it_with_its_default(product):
    said = " ".join(product.fusionscope("capture", "--help").split())
    assert "--cooling COOLING rest of the device between two rounds (default: 1.5 s)" in said


def test_its_words_give_the_same_spec(product):
    product.run("-c", SPEC)


def test_a_value_that_it_cannot_have_is_refused(product):
    said = product.fusionscope("capture", "customcnn", "--cooling=-1", status=2)
    assert "--cooling is -1.0." in said and "Pass 0 or more." in said


def test_agents_can_give_it(product):
    product.run("-c", SCHEMA)


def test_the_page_has_a_field_for_it(product):
    product.run("-c", FORM)
