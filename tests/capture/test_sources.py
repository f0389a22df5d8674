"""sources.json keeps the named lines with their context, and nothing of torch."""

import pytest

from profiler_core.capture.interpreter import CHILD
from profiler_core.capture.sources import collect_sources


def test_lines_named_in_a_text_log_are_kept_with_eight_each_way(tmp_path):
    source = tmp_path / "model.py"
    source.write_text("".join(f"line {n}\n" for n in range(1, 41)))
    log = tmp_path / "torch_logs.txt"
    log.write_text(
        f"V1121 08:26:53 7 torch/_dynamo/x.py:5] [0/0] [__graph_breaks] "
        f"Graph break in user code at {source}:20\n"
        f'  File "{source}", line 2, in forward\n'
    )
    found = collect_sources([log, tmp_path / "absent.log"], ())
    lines = found["files"][str(source)]["lines"]
    assert list(lines) == [str(n) for n in [*range(1, 11), *range(12, 29)]]
    assert lines["20"] == "line 20"


def test_interned_names_of_the_structured_log_are_followed(tmp_path):
    source = tmp_path / "model.py"
    source.write_text("a\nb\nc\n")
    log = tmp_path / "trace.log"
    log.write_text(
        f'V1121 {{"str": ["{source}", 3]}}\n'
        'V1121 {"dynamo_start": {"stack": [{"line": 2, "name": "f", "filename": 3}]}}\n'
    )
    assert collect_sources([log], ())["files"][str(source)]["lines"]["2"] == "b"


def test_folders_that_are_not_the_users_are_left_out(tmp_path):
    source = tmp_path / "torch" / "nn.py"
    source.parent.mkdir()
    source.write_text("a\n")
    log = tmp_path / "log.txt"
    log.write_text(f'File "{source}", line 1, in f\nFile "/nowhere/else.py", line 3, in g\n')
    assert collect_sources([log], (str(source.parent),)) == {"schema": 1, "files": {}}


def test_packages_beside_torch_and_below_the_standard_library_are_kept(tmp_path):
    """As torchvision and transformers lie: `torch` begins their folder's name, or Python's does."""
    stdlib = tmp_path / "lib" / "python3.12"
    packages = stdlib / "site-packages"
    shown = [packages / "torchvision" / "resnet.py", packages / "transformers" / "bert.py"]
    hidden = [packages / "torch" / "nn" / "module.py", stdlib / "contextlib.py"]
    for path in (*shown, *hidden):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\nb\n")
    log = tmp_path / "trace.log"
    log.write_text("".join(f" # File: {path}:2 in forward\n" for path in (*shown, *hidden)))
    found = collect_sources([log], (str(packages / "torch"), str(stdlib)))
    assert set(found["files"]) == {str(path) for path in shown}


@pytest.mark.parametrize("logged", ["link", "target"])
@pytest.mark.parametrize("told", ["link", "target"])
def test_an_environment_behind_a_symbolic_link_is_left_out(tmp_path, logged, told):
    """`.venv` links to another folder: tracebacks name the link, `resolve()` its target."""
    packages = tmp_path / "target" / "lib" / "python3.12" / "site-packages"
    for name in ("torch/nn/module.py", "torchvision/resnet.py"):
        (packages / name).parent.mkdir(parents=True)
        (packages / name).write_text("a\nb\n")
    (tmp_path / "link").symlink_to(tmp_path / "target")

    def named(root, name):
        return str(tmp_path / root / "lib" / "python3.12" / "site-packages" / name)

    log = tmp_path / "torch_logs.txt"
    files = [named(logged, name) for name in ("torch/nn/module.py", "torchvision/resnet.py")]
    log.write_text("".join(f'File "{file}", line 2, in forward\n' for file in files))
    sources = collect_sources([log], (named(told, "torch"),))
    assert set(sources["files"]) == {files[1]}


def test_of_our_own_files_only_models_and_the_step_are_kept(tmp_path):
    log = tmp_path / "trace.log"
    names = ("main.py", "serve.py", "timing.py", "models.py", "step.py")
    log.write_text("".join(f'File "{CHILD / name}", line 20, in f\n' for name in names))
    found = collect_sources([log], ())
    assert set(found["files"]) == {str(CHILD / "models.py"), str(CHILD / "step.py")}
