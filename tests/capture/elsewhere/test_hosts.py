"""Which machine, and what will run there: nothing here starts a process."""

import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import msgspec
import pytest

from profiler_core.capture.elsewhere.bundle import our_files, project_of, write_bundle
from profiler_core.capture.elsewhere.host import (
    called,
    checked,
    host_named,
    host_words,
    read_address,
    with_words,
)
from profiler_core.capture.elsewhere.kubernetes import kubectl, manifest
from profiler_core.capture.elsewhere.transport import (
    SSH_OPTIONS,
    interpreter_in,
    remote_line,
    ssh_words,
    starter,
)
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.main import main
from profiler_core.errors import BadInput
from profiler_core.settings import Host, settings
from tests.capture.conftest import TINY


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu-box", ["--", "gpu-box"]),
        ("ada@gpu-box", ["-l", "ada", "--", "gpu-box"]),
        ("ada@10.0.0.7:2222", ["-p", "2222", "-l", "ada", "--", "10.0.0.7"]),
        ("[::1]:22", ["-p", "22", "--", "::1"]),
    ],
)
def test_an_address_in_words(text, words):
    assert read_address(text).words == words
    line = ssh_words(read_address(text), starter(None))
    assert line[:2] == ["ssh", "-T"]
    assert line[2 : 2 + 2 * len(SSH_OPTIONS)] == [w for o in SSH_OPTIONS for w in ("-o", o)]
    assert line[-1 - len(words) : -1] == words


@pytest.mark.parametrize(
    "text",
    [
        "-oProxyCommand=touch /tmp/x", "ada@-oProxyCommand=x", "-l@box", "box -v", "box;id",
        "$(id)", "`id`", "box\n-v", "box:0", "box:99999", "box:22:22", "a@b@c", "", "@box", "ada@",
        "ö.example", "box\0", "%h", "../box",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(text):
    for read in (read_address, lambda name: checked(Host(ssh=name)), host_named):
        with pytest.raises(BadInput, match="is no address of a machine"):
            read(text)


@pytest.mark.parametrize(
    "python",
    [
        "/opt/my env/bin/python", "/x/$(touch pwned)/python3", "/x/'; touch pwned; '/python",
        "~/v e/bin/python",
    ],
)  # fmt: skip
def test_a_remote_shell_gets_the_words_as_they_are(tmp_path, python):
    """What `exec` would start, told by a function of that name."""
    line = remote_line(starter(python))
    script = f'exec() {{ for word in "$@"; do printf "%s\\0" "$word"; done; }}\n{line}\n'
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path,
        env={"HOME": "/home/ada", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stderr == ""
    expected = [python.replace("~/", "/home/ada/"), *starter(python)[1:]]
    assert done.stdout.split("\0")[:-1] == expected
    assert list(tmp_path.rglob("pwned")) == []


def test_the_interpreter_of_another_machine():
    assert interpreter_in(None) == "python3"
    assert interpreter_in("/opt/torch") == "/opt/torch/bin/python"
    assert interpreter_in("/opt/torch/bin/python3.12") == "/opt/torch/bin/python3.12"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (Host(kubernetes=True, image="torch", ssh="box"), "or over ssh and Slurm"),
        (Host(kubernetes=True), "needs an image"),
        (Host(kubernetes=True, image="x", namespace="-n"), "is no namespace"),
        (Host(kubernetes=True, image="x", namespace="a b"), "is no namespace"),
        (Host(kubernetes=True, image="x", context="--as=root"), "is no context"),
        (Host(slurm=True, slurm_options=("gpu",)), "is no option of sbatch"),
        (Host(python="/x"), "not said how the machine is reached"),
        (Host(kubernetes=True, image="x", gpus=-1), "--gpus is -1"),
    ],
)
def test_what_does_not_fit_together_is_refused(host, words):
    with pytest.raises(BadInput, match=words):
        checked(host)


def test_a_host_of_the_settings_by_its_name(own_home):
    (own_home / "settings.toml").write_text(
        '[hosts.box]\nssh = "ada@gpu:2222"\npython = "/opt/torch"\nslurm = true\n'
        'slurm_options = ["--partition=gpu"]\n[hosts.k]\nkubernetes = true\nimage = "torch:2"\n'
    )
    box = host_named("box")
    assert (box.ssh, box.python, box.slurm_options) == (
        "ada@gpu:2222", "/opt/torch", ("--partition=gpu",),
    )  # fmt: skip
    assert called(box) == "Slurm at ada@gpu:2222"
    assert host_named("k").image == "torch:2"
    assert host_named("elsewhere") == Host(ssh="elsewhere")
    assert set(settings().hosts) == {"box", "k"}
    (own_home / "settings.toml").write_text("[hosts.box]\nssch = 'x'\n")
    with pytest.raises(BadInput, match="ssch"):
        host_named("box")


@pytest.mark.parametrize(
    "host",
    [
        Host(ssh="ada@box"),
        Host(ssh="box", slurm=True, slurm_options=("--gres=gpu:1", "--time=5"), folder="/scratch"),
        Host(kubernetes=True, image="a/b:c", namespace="ml", context="prod", gpus=4),
        Host(slurm=True),
    ],
)
def test_the_words_of_a_host_give_the_same_host(host, monkeypatch):
    got = []
    monkeypatch.setattr(
        "profiler_core.cli.capture.capture_elsewhere",
        lambda _spec, other, _: got.append(other) or 0,
    )
    assert main(["capture", "customcnn", *host_words(host)]) == 0
    assert got == [host]


def test_without_a_host_nothing_is_elsewhere():
    assert with_words(None, slurm=False, image=None, slurm_options=()) is None


def only_git(folder):
    (folder / "programs").mkdir()
    (folder / "programs" / "git").symlink_to(shutil.which("git"))
    return folder / "programs"


def test_a_dry_run_shows_all_and_starts_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(only_git(tmp_path)))
    (tmp_path / "model.py").write_text("def f(): ...\n")
    words = ["capture", f"{tmp_path}/model.py:f", "--dry-run", f"--out={tmp_path}/runs"]
    assert main([*words, "--host=ada@box", "--python=/opt/torch"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Captures on ada@box.")
    assert "ssh -T -o BatchMode=yes -o StrictHostKeyChecking=yes" in text
    assert "model.py" in text and f"Its runs come to {tmp_path}/runs." in text
    assert "--python=/opt/torch" in text
    assert main([*words, "--slurm", "--slurm-option=--gres=gpu:1"]) == 0
    text = capsys.readouterr().out
    assert "#!/bin/sh\nexec " in text and "sbatch --parsable" in text and "--gres=gpu:1" in text
    assert main([*words, "--kubernetes", "--image=torch:2"]) == 0
    text = capsys.readouterr().out
    assert '"kind": "Job"' in text and "kubectl create -f -" in text
    assert main(words) == 0
    assert "Captures on this machine" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


def test_our_code_there_needs_nothing_else(tmp_path):
    """An interpreter without any library runs what is sent; it stops at the missing torch."""
    write_bundle(tmp_path / "sent.tar.gz", None)
    with tarfile.open(tmp_path / "sent.tar.gz") as archive:
        archive.extractall(tmp_path / "sent", filter="data")
    (tmp_path / "runs").mkdir()
    start = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'sent' / 'fusionscope')!r}); "
        "from profiler_core.capture.elsewhere.there import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", start, "customcnn", "--python=/no/python",
         f"--out={tmp_path}/runs", f"--progress={tmp_path}/p"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    failure = msgspec.json.decode((tmp_path / "runs" / "failure.json").read_bytes())
    assert failure["problem"] == "The interpreter /no/python does not exist."
    size = (tmp_path / "sent.tar.gz").stat().st_size
    assert size < 1_500_000
    assert not any("/ui/" in name or "/analysis/" in name for _, name in our_files())


def test_of_a_repository_what_git_knows_is_sent(tmp_path):
    repository = tmp_path / "repository"
    (repository / "package").mkdir(parents=True)
    (repository / "data").mkdir()
    for name in ("package/__init__.py", "package/model.py", "train.py", "data/large.bin", "new.py"):
        (repository / name).write_text("x = 1\n")
    (repository / ".gitignore").write_text("data/\n")
    for words in (["init", "-q"], ["add", "package", "train.py"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    spec = CaptureSpec(f"{repository}/package/model.py:f")
    project = project_of(spec)
    assert project.folder == repository  # around the outermost package
    assert [str(path) for path in project.paths] == [
        ".gitignore", "new.py", "package/__init__.py", "package/model.py", "train.py",
    ]  # fmt: skip


def test_without_git_what_looks_like_code_is_sent(tmp_path):
    for name in (
        "model.py",
        ".cache/x",
        "venv/pyvenv.cfg",
        "venv/lib/y.py",
        "a/__pycache__/m.pyc",
        "a/b.py",
    ):
        (tmp_path / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "p" / name).write_text("")
    project = project_of(CaptureSpec(f"{tmp_path}/p/model.py:f"))
    assert [str(path) for path in project.paths] == ["a/b.py", "model.py"]


def test_too_much_is_not_sent(tmp_path, monkeypatch):
    monkeypatch.setattr("profiler_core.capture.elsewhere.bundle._MOST_BYTES", 10)
    for name in ("model.py", "a", "b", "c"):
        (tmp_path / name).write_text("x" * 8)
    with pytest.raises(BadInput, match="too much to be sent") as raised:
        project_of(CaptureSpec(f"{tmp_path}/model.py:f"))
    assert "--code-there" in raised.value.remedy


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"workload": "/nowhere/model.py:f"}, "does not exist"),
        ({"directory": "/usr"}, "does not hold"),
        ({"against": f"path:{TINY}"}, "only one is sent"),
        ({"against": "git:main"}, "only one is sent"),
    ],
)
def test_what_cannot_be_sent_is_said_before_anything_starts(plan, more, words):
    with pytest.raises(BadInput, match=words):
        plan(**{"workload": f"{TINY}:model", **more})


def test_the_paths_of_the_spec_become_those_of_the_other_machine(plan):
    made = plan(f"{TINY}:model", directory=str(TINY.parent), python=None, name="x 'y' $(z)")
    words = made.command
    assert "{sent}/code/tiny.py:model" in words
    assert "--directory={sent}/code" in words
    assert "--python={own}" in words
    assert "--name=x 'y' $(z)" in words  # over standard input, past every shell
    assert "x 'y'" not in shlex.join(made.transport)
    assert not any(str(Path.home()) in word for word in words if word.startswith("{"))


def test_the_job_of_kubernetes(plan):
    host = Host(kubernetes=True, image="torch:2", namespace="ml", context="prod", gpus=2)
    job = manifest(host, "fusionscope-x", None)
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["image"] == "torch:2"
    assert container["command"] == starter(None)
    assert (container["stdin"], container["stdinOnce"]) == (True, True)  # ends with us
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2"}}
    assert (spec["restartPolicy"], job["spec"]["backoffLimit"]) == ("Never", 0)
    assert not spec["automountServiceAccountToken"]
    assert kubectl(host, "get", "pods") == [
        "kubectl", "--context=prod", "--namespace=ml", "get", "pods",
    ]  # fmt: skip
    without = manifest(Host(kubernetes=True, image="x", gpus=0), "y", None)
    assert without["spec"]["template"]["spec"]["containers"][0]["resources"] == {}
