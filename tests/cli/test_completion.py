"""The scripts for shells: each shell that is installed runs its own; all are looked at as text."""

import os
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


def in_bash(script, words):
    line = " ".join(f"'{word}'" for word in ["fusionscope", *words])
    return ["bash", "-u"], (
        f"{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n"
        "_fusionscope\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )


def in_zsh(script, words):
    """With what zsh's own completion offers in place of what its line editor would draw."""
    line = " ".join(f"'{word}'" for word in ["fusionscope", *words])
    return ["zsh", "-f"], (
        "compdef() { }\n_files() { print -l -- *(N) }\n"
        "_describe() { local -a given=(${(P)@[-1]}); print -l -- ${given%%:*} }\n"
        f"{script}\nwords=({line})\nCURRENT={len(words) + 1}\n_fusionscope\n"
    )


def in_fish(script, words):
    return ["fish", "--no-config"], f"{script}\ncomplete -C 'fusionscope {' '.join(words)}'\n"


@pytest.mark.parametrize(
    ("words", "offered", "absent"),
    [
        (["comp"], {"compare", "completion"}, "list"),
        (["runs", "re"], {"retention", "reconcile"}, "compare"),
        (["runs", "list", "--wo"], {"--workload"}, "--junit"),
        (["gate", "a", "b", "--max-b"], {"--max-breaks"}, "--sweep"),
        (["completion", "z"], {"zsh"}, "compare"),
        (["summary", "some"], {"some_trace.json"}, "summary"),
    ],
)
@pytest.mark.parametrize("program", [in_bash, in_zsh, in_fish])
def test_a_shell_offers_what_can_stand_there(capsys, tmp_path, program, words, offered, absent):
    shell = program.__name__.removeprefix("in_")
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    (tmp_path / "some_trace.json").touch()
    command, text = program(script(capsys, shell), words)
    done = subprocess.run(
        command, input=text, cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")},
    )  # fmt: skip
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
    subprocess.run([shell, "-n"], input=script(capsys, shell), text=True, check=True)
