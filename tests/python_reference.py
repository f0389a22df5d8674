"""The names of `import fusionscope` as Markdown: what docs/python.md has between its marks."""

import inspect
import re

import fusionscope

_ORDER = ("open", "compare", "capture", "try_", "sample")
_CLASSES = ("Comparison", "Pair", "Run", "Experiment")
_SECTIONS = {"Args:": "", "Returns:": "Returns: ", "Raises:": "Raises: "}


def api_reference():
    """Functions, then classes with what they have; of each its signature and docstring."""
    parts = [_function(f"fusionscope.{name}", getattr(fusionscope, name)) for name in _ORDER]
    return "\n".join([*parts, *map(_class, _CLASSES)])


def _class(name):
    kind = getattr(fusionscope, name)
    keys = [key for key in dict.fromkeys(_keys(kind)) if not key.startswith("_")]
    members = {key: inspect.getattr_static(kind, key) for key in keys}
    methods = {key: value for key, value in members.items() if inspect.isfunction(value)}
    rows = [_attribute(key, value) for key, value in members.items() if key not in methods]
    parts = [f"### fusionscope.{name}", _text(inspect.getdoc(kind)), _attributes(rows)]
    if kind in (fusionscope.Pair, fusionscope.Run):
        shared = ", ".join(f"`.{key}`" for key in methods)
        parts.append(f"{shared}: as of a `Comparison`.")
        methods = {}
    texts = [_function(f".{key}", value, level=4) for key, value in methods.items()]
    return "\n\n".join(parts) + "\n\n" + "\n".join(texts)


def _keys(kind):
    """What all results have first, each in its own order."""
    return [key for holder in kind.__mro__[-2::-1] for key in vars(holder)]


def _attributes(rows):
    return "\n".join(["| attribute | type | what it is |", "| --- | --- | --- |", *rows])


def _attribute(key, value):
    getter = getattr(value, "fget", None) or value.func
    text = " ".join(inspect.getdoc(getter).split()).replace(" Raises: ", " Raises ")
    kind = _plain(inspect.formatannotation(inspect.signature(getter).return_annotation))
    return f"| `{key}` | `{kind}` | {text} |".replace(" | None", " or None")


def _function(name, function, level=3):
    signature = str(inspect.signature(function)).replace("(self, ", "(").replace("(self)", "()")
    return (
        f"{'#' * level} {name}\n\n```python\n{name}{_plain(signature)}\n```\n\n"
        f"{_text(inspect.getdoc(function))}\n"
    )


def _plain(types):
    """Types as one would write them: without modules, and without the marks of a late import."""
    types = re.sub(r"(?<=: )'([^']+)'|(?<=-> )'([^']+)'|^'([^']+)'$", r"\1\2\3", types)
    return re.sub(r"\b(?:fusionscope|typing|pathlib|collections)\.(?:[a-z_]+\.)*", "", types)


def _text(docstring):
    """The paragraphs; arguments as a list."""
    lines, section = [], None
    for block in docstring.split("\n\n"):
        head, *rest = block.splitlines()
        if head in _SECTIONS:
            section = head
            body = inspect.cleandoc("\n" + "\n".join(rest))
            lines.append(_arguments(body) if section == "Args:" else _named(section, body))
        elif block.startswith("    "):
            lines.append(f"```python\n{inspect.cleandoc(block)}\n```")
        else:
            lines.append(_sentences(block))
    return "\n\n".join(lines)


def _named(section, body):
    return _SECTIONS[section] + _sentences(body)


def _arguments(body):
    entries = re.split(r"\n(?=\S)", body)
    return "\n".join(
        f"* `{name}`: {' '.join(text.split())}"
        for name, _, text in (entry.partition(": ") for entry in entries)
    )


def _sentences(block):
    """One a line."""
    return re.sub(r"(?<=[.:]) (?=[A-Z])", "\n", " ".join(block.split()))
