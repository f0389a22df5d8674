"""`completion bash|zsh|fish`: a script that completes commands, actions and options in a shell.

Own rather than a library's: argcomplete starts Python at each press of a key, and what is left is
these lines.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiler_core.cli.parser import VerbParser, help_text, parsers_of

_PROGRAM = "fusionscope"


@dataclass(frozen=True)
class Option:
    """One option, with all of its names."""

    flags: tuple[str, ...]
    help: str
    has_value: bool


@dataclass(frozen=True)
class Command:
    """A verb or an action: its actions by name, and its options."""

    help: str
    actions: tuple[str, ...]
    options: tuple[Option, ...]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "completion",
        help="a script that completes commands and options in your shell",
        epilog=f'bash, zsh: eval "$({_PROGRAM} completion bash)" in ~/.bashrc (zsh in ~/.zshrc, '
        f"after compinit); fish: {_PROGRAM} completion fish | source in its config.",
    )
    parser.add_argument("shell", choices=sorted(_SCRIPTS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print(_SCRIPTS[arguments.shell](commands()))
    return 0


def commands() -> Mapping[str, Command]:
    """Every command by its words: "runs", "runs list". One that cannot be imported has no options.

    Extras that are not installed are no reason to complete nothing.
    """
    from profiler_core.cli.main import VERBS, verb_module

    described: dict[str, Command] = {}
    for verb, (_, about) in VERBS.items():
        holder: argparse._SubParsersAction[Any]
        holder = argparse.ArgumentParser().add_subparsers(parser_class=VerbParser)
        try:
            verb_module(verb).add_parser(holder)
        except ImportError:
            described[verb] = Command(about, (), ())
            continue
        for name, parser in parsers_of(holder.choices[verb], verb):
            help_text = about if name == verb else parser.description or ""
            described[name] = Command(help_text, _actions(parser), _options(parser))
    return described


def _actions(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    chosen = (
        action.choices
        for action in parser._actions
        if not action.option_strings and action.choices is not None
    )
    return tuple(str(name) for names in chosen for name in names)


def _options(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    return tuple(
        Option(
            tuple(action.option_strings),
            help_text(action),
            action.nargs != 0,
        )
        for action in parser._actions
        if action.option_strings and action.help != argparse.SUPPRESS
    )


def _bash(described: Mapping[str, Command]) -> str:
    cases = "\n".join(
        f"    '{name}') words='{' '.join((*command.actions, *_flags(command)))}' ;;"
        for name, command in described.items()
    )
    verbs = " ".join(name for name in described if " " not in name)
    return f"""_{_PROGRAM}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="" words="{verbs}" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
{_shell_cases(described, 6)}
    esac
  done
  case "$command" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $command && $current != -* ]]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _{_PROGRAM} {_PROGRAM}"""


def _zsh(described: Mapping[str, Command]) -> str:
    cases = "\n".join(
        f"    '{name}') known=({' '.join(map(_quoted, _zsh_words(described, name)))}) ;;"
        for name in described
    )
    verbs = [
        f"{name}:{_zsh_text(command.help)}"
        for name, command in described.items()
        if " " not in name
    ]
    return f"""#compdef {_PROGRAM}
_{_PROGRAM}() {{
  local -a known=({" ".join(map(_quoted, verbs))})
  local command="" word
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$command $word" in
{_shell_cases(described, 6)}
    esac
  done
  case "$command" in
{cases}
  esac
  local -i nothing=1
  _describe -t commands {_PROGRAM} known && nothing=0
  [[ -n $command ]] && _files && nothing=0
  return nothing
}}
compdef _{_PROGRAM} {_PROGRAM}"""


def _fish(described: Mapping[str, Command]) -> str:
    lines = []
    for name, command in described.items():
        verb, _, action = name.partition(" ")
        of_verb = f"__fish_seen_subcommand_from {verb}"
        where = f"{of_verb}; and __fish_seen_subcommand_from {action}" if action else of_verb
        before = of_verb if action else "__fish_use_subcommand"
        start = f"complete -c {_PROGRAM} -n"
        about = f"-f -a {action or verb} -d {_quoted(command.help)}"
        lines.append(f"{start} {_quoted(before)} {about}")
        values = [value for value in command.actions if f"{name} {value}" not in described]
        lines += [f"{start} {_quoted(where)} -f -a {value}" for value in values]
        for option in command.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in option.flags
            )
            value = " -r" if option.has_value else ""
            lines.append(f"{start} {_quoted(where)} {flags}{value} -d {_quoted(option.help)}")
    return "\n".join(lines)


def _shell_cases(described: Mapping[str, Command], indent: int) -> str:
    """From the command so far and the next word to the command with it."""
    return "\n".join(
        f"{'':{indent}}{_quoted(name if ' ' in name else f' {name}')}) command='{name}' ;;"
        for name in described
    )


def _flags(command: Command) -> list[str]:
    return [flag for option in command.options for flag in option.flags]


def _zsh_words(described: Mapping[str, Command], name: str) -> list[str]:
    """`word:what it is`, as _describe takes them."""
    actions = [
        f"{action}:{_zsh_text(described[f'{name} {action}'].help)}"
        if f"{name} {action}" in described
        else action
        for action in described[name].actions
    ]
    options = [
        f"{flag}:{_zsh_text(option.help)}"
        for option in described[name].options
        for flag in option.flags
    ]
    return actions + options


def _zsh_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _quoted(text: str) -> str:
    """In single quotes, as all three shells read them."""
    return "'" + text.replace("'", "’") + "'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
