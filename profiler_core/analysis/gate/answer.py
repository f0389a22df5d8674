"""The answer of a gate for machines and for people: JUnit, a summary in Markdown."""

import re
from xml.etree import ElementTree as ET  # only written: nothing is parsed

from profiler_core.analysis.gate.judgement import Check, Gate
from profiler_core.analysis.gate.limits import value_text
from profiler_core.analysis.wording.compilation import break_line
from profiler_core.markdown_text import plain

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_MARK = {"pass": "✅", "regression": "❌", "cannot judge": "❔", "not compiled": "❌"}
_FAILURES = ("regression", "not compiled")
_LONGEST = 2_000  # characters of one sentence
_TITLE = {
    "pass": "The gate is passed",
    "regression": "Regression",
    "cannot judge": "The gate cannot judge",
    "not compiled": "The candidate does not compile",
}


def junit_xml(gate: Gate, name: str) -> str:
    """One test case a limit; what cannot be judged is an error, a regression a failure.

    So is a candidate that does not compile, as a test case of its own.
    """
    outcomes = [check.outcome for check in gate.checks]
    suite = ET.Element(
        "testsuite",
        name=_xml(f"fusionscope gate {name}"),
        tests=str(len(outcomes)),
        failures=str(sum(outcome in _FAILURES for outcome in outcomes)),
        errors=str(outcomes.count("cannot judge")),
        skipped="0",
    )
    for check in gate.checks:
        title = f"{check.quantity.label} {check.limit}".strip()
        case = ET.SubElement(suite, "testcase", classname=_xml(name), name=_xml(title))
        if check.outcome in _FAILURES:
            failure = ET.SubElement(
                case, "failure", message=_xml(check.sentence), type=check.outcome
            )
            if check.quantity.key == "graph_breaks":
                failure.text = _xml("\n".join(break_lines(gate)))
        elif check.outcome == "cannot judge":
            ET.SubElement(case, "error", message=_xml(check.sentence), type="cannot judge")
        else:
            ET.SubElement(case, "system-out").text = _xml(check.sentence)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def summary_markdown(gate: Gate, name: str) -> str:
    """A table for the summary of a job."""
    lines = [
        f"### {_MARK[gate.outcome]} {_TITLE[gate.outcome]}: {plain(name, _LONGEST)}",
        "",
        "| | | baseline | candidate | limit | |",
        "|---|---|---:|---:|---:|---|",
    ]
    for check in gate.checks:
        values = [_value(check, check.baseline), _value(check, check.candidate)]
        lines.append(
            f"| {_MARK[check.outcome]} | {check.quantity.label} | {' | '.join(values)} "
            f"| {plain(check.limit, _LONGEST)} | {plain(check.sentence, _LONGEST)} |"
        )
    lines += ["", *(f"- {plain(line, _LONGEST)}" for line in (*break_lines(gate), *gate.notes))]
    return "\n".join(lines).rstrip() + "\n\n"


def break_lines(gate: Gate) -> list[str]:
    """The candidate's graph breaks, where it does not keep their limit, one line each."""
    return [f"Graph break at {break_line(graph_break)}" for graph_break in gate.breaks]


def annotations(gate: Gate, root: str = "") -> list[str]:
    """Workflow commands of GitHub Actions; empty where everything passed.

    Args:
        gate: what was judged.
        root: the checkout: files below it are named as GitHub names them, so that a break stands
            at its line of the pull request.
    """
    commands = []
    for check in gate.checks:
        if check.outcome == "pass":
            continue
        kind = "error" if check.outcome in _FAILURES else "warning"
        title = _escaped(f"{check.quantity.label}: {check.outcome}", ":,")
        commands.append(f"::{kind} title={title}::{_escaped(check.sentence)}")
        for graph_break in gate.breaks if check.quantity.key == "graph_breaks" else ():
            file = graph_break.place.file
            file = _escaped(file.removeprefix(f"{root}/") if root else file, ":,")
            at = f"file={file},line={graph_break.place.line}"
            text = _escaped(break_line(graph_break))
            commands.append(f"::{kind} {at},title=Graph break::{text}")
    return commands


def _escaped(text: str, also: str = "") -> str:
    """As the toolkit of GitHub Actions escapes values and properties of workflow commands."""
    for character in f"%\r\n{also}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _value(check: Check, value: float | None) -> str:
    return value_text(check.quantity.kind, value)


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
