"""`capture --against patch:FILE`: a patched copy is timed in turns with the file as it is."""

import difflib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.capture.references import references_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.capture.versions import versions_of
from profiler_core.errors import BadInput
from tests.capture.test_against import git, project  # noqa: F401  # project is a fixture


def diff(path, before, after):
    lines = difflib.unified_diff(
        before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}"
    )
    return "".join(lines)


def spec_of(folder, patch, **more):
    return CaptureSpec(f"{folder / 'net' / 'model.py'}:build", against=f"patch:{patch}", **more)


@pytest.fixture
def patch(tmp_path):
    file = tmp_path / "change.diff"
    file.write_text(diff("net/layers.py", "SECONDS = 0.004\n", "SECONDS = 0.001\n"))
    return file


def test_a_patch_is_applied_to_a_copy_and_never_to_the_users_file(project, patch, tmp_path):  # noqa: F811
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}
    own, changed = versions_of(spec_of(project, patch), tmp_path / "work")
    assert (own.label, changed.label) == ("as it is", "change.diff")
    assert (own.is_against, changed.is_against) == (True, False)
    assert own.spec.workload == f"{project / 'net' / 'model.py'}:build"
    copy = Path(changed.spec.workload.rpartition(":")[0])
    assert copy.is_relative_to(tmp_path / "work")
    assert (copy.parent / "layers.py").read_text() == "SECONDS = 0.001\n"
    assert (changed.code["git_commit"], changed.code["git_dirty"]) == (
        git(project, "rev-parse", "main"),
        True,
    )
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


def test_paths_of_the_repository_fit_a_project_that_is_a_folder_of_it(tmp_path):
    folder = tmp_path / "repository" / "models"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text("A = 1\n")
    git(folder.parent, "init")
    git(folder.parent, "add", ".")
    git(folder.parent, "commit", "-m", "first")
    patch = tmp_path / "p.diff"
    patch.write_text(diff("models/one.py", "A = 1\n", "A = 2\n"))
    spec = CaptureSpec(f"{folder / 'one.py'}:build", against=f"patch:{patch}")
    changed = versions_of(spec, tmp_path / "work")[1]
    assert Path(changed.spec.workload.rpartition(":")[0]).read_text() == "A = 2\n"
    inside = replace(spec, directory=str(folder))
    changed = versions_of(inside, tmp_path / "again")[1]
    assert Path(changed.spec.directory).is_relative_to(tmp_path / "again")


LINK = (
    "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n"
    "+/etc/passwd\n\\ No newline at end of file\n"
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (diff("../outside.py", "a\n", "b\n"), r"names \.\./outside\.py, which leads out"),
        ("--- /etc/hostname\n+++ /etc/hostname\n@@ -1 +1 @@\n-a\n+b\n", "names /etc/hostname"),
        (LINK, "makes a symbolic link"),
        (LINK.replace("120000", "0120000"), "makes a symbolic link"),
        (diff("net/layers.py", "SECONDS = 5\n", "SECONDS = 6\n"), "does not fit your file"),
        ("no diff at all\n", "names no file"),
    ],
)
def test_what_leads_out_or_does_not_fit_is_refused(project, tmp_path, text, problem):  # noqa: F811
    (tmp_path / "outside.py").write_text("a\n")
    patch = tmp_path / "bad.diff"
    patch.write_text(text)
    with pytest.raises(BadInput, match=problem):
        versions_of(spec_of(project, patch), tmp_path / "work")
    assert (tmp_path / "outside.py").read_text() == "a\n"


def test_a_patch_that_is_not_there_says_so(project, tmp_path):  # noqa: F811
    with pytest.raises(BadInput, match="cannot be read"):
        versions_of(spec_of(project, tmp_path / "none.diff"), tmp_path / "work")


def test_the_answers_of_the_patched_copy_are_held_against_the_file_as_it_is(tmp_path):
    """A version has its own reference, by its first run; a patch that changes answers is seen."""

    def references(against, *variants):
        runs = [
            SimpleNamespace(variant=variant, version=version, is_first=not number)
            for version in ("as it is", "change.diff")
            for number, variant in enumerate(variants)
        ]
        spec = SimpleNamespace(numerics=True, against=against, variants=variants)
        runs = [_Hashable(run) for run in runs]
        made_by, checked = references_of(runs, SimpleNamespace(spec=spec, work=tmp_path))
        return [runs.index(run) for run in made_by], {
            runs.index(run): path.name for run, path in checked.items()
        }

    eager, default = (parse_variant(label) for label in ("eager", "default"))
    assert references("patch:p.diff", default) == ([0], dict.fromkeys((0, 1), "reference.pt"))
    assert references("patch:p.diff", eager, default) == (
        [0], dict.fromkeys((1, 2, 3), "reference.pt"),
    )  # fmt: skip
    assert references("git:main", eager, default) == (
        [0, 2], {1: "reference-0.pt", 3: "reference-1.pt"},
    )  # fmt: skip
    assert references("git:main", default) == ([], {})


class _Hashable:
    def __init__(self, run):
        self.__dict__.update(vars(run))
