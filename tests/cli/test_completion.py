"""The scripts for shells: bash runs its own here; the others are looked at as text."""

import shutil
import subprocess

import pytest

from profiler_core.cli.completion import commands
from profiler_core.cli.main import VERBS, main


@pytest.fixture(scope="module")
def described():
    return commands()


def script(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_every_verb_and_action_is_described(described):
    assert set(VERBS) == {name for name in described if " " not in name}
    assert {"runs list", "runs export"} <= set(described)
    assert all(command.help for command in described.values())
    flags = {flag for option in described["capture"].options for flag in option.flags}
    assert {"--out", "--variants", "--wide", "-q", "--quiet"} <= flags


@pytest.mark.parametrize(
    ("words", "offered", "absent"),
    [
        (["comp"], {"compare", "completion"}, "summary"),
        (["runs", "re"], {"retention", "reconcile"}, "list"),
        (["runs", "list", "--wo"], {"--workload"}, "--junit"),
        (["gate", "a", "b", "--max-b"], {"--max-breaks"}, "--max-kernels"),
        (["completion", "z"], {"zsh"}, "bash"),
        (["summary", "--json", "some"], {"some_trace.json"}, "summary"),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_offers_what_can_stand_there(capsys, tmp_path, words, offered, absent):
    (tmp_path / "some_trace.json").touch()
    line = " ".join(f"'{word}'" for word in ["fusionscope", *words])
    program = (
        f"{script(capsys, 'bash')}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n"
        "_fusionscope\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run(
        ["bash", "-u"], input=program, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert offered <= set(done.stdout.split())
    assert absent not in done.stdout.split()


def test_zsh_and_fish_name_every_option(capsys, described):
    zsh, fish = script(capsys, "zsh"), script(capsys, "fish")
    assert zsh.startswith("#compdef fusionscope\n")
    for name, command in described.items():
        assert f"    '{name}') known=(" in zsh
        for option in command.options:
            for flag in option.flags:
                assert f"'{flag}:" in zsh
            flags = [f"-l {f[2:]}" if f[:2] == "--" else f"-s {f[1:]}" for f in option.flags]
            assert any(
                " ".join(flags) in line and f"seen_subcommand_from {name.split()[-1]}" in line
                for line in fish.splitlines()
            ), (name, option)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_that_are_here_read_their_script(capsys, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    subprocess.run([shell, "--no-execute"], input=script(capsys, shell), text=True, check=True)
