"""The parts of a sentence: what stands out in it, its claim and its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Strong:
    """Words that a page sets in the accent colour."""

    text: str


Phrase = tuple[str | Strong, ...]


def plain(phrase: Phrase) -> str:
    """The words alone."""
    return "".join(part if isinstance(part, str) else part.text for part in phrase)


def ended(text: str) -> str:
    """Text of a file, which may be a sentence or a part of one, with one full stop at its end."""
    return text if text.endswith(".") else f"{text}."


def clause(sentence: str) -> str:
    """The sentence of an error as a part of another one, or of a table."""
    return sentence.removesuffix(".")


# What begins a sentence of ours with a capital of its own.
_NAMES = (
    "AOTAutograd", "Chrome", "Docker", "Dynamo", "HTA", "Inductor", "Kineto", "Linux", "Megatron",
    "NCCL", "Nsight", "NVIDIA", "PyTorch", "Python", "Streamlit", "Triton",
)  # fmt: skip


def of_run(label: str, sentence: str) -> str:
    """A sentence about one run among several, "default: its steps replay a CUDA graph".

    Args:
        label: of the run, or of several.
        sentence: it goes on within the line, so with a small letter.
    """
    return f"{label}: {uncapitalised(sentence)}"


def uncapitalised(sentence: str) -> str:
    """With a small first letter, unless it is a name's or an abbreviation's."""
    is_word = sentence[1:2].islower() or sentence[1:2] == " "
    if not is_word or sentence.startswith(_NAMES):
        return sentence
    return sentence[:1].lower() + sentence[1:]


def capitalised(text: str) -> str:
    """The same with a capital letter at the beginning; all others stay."""
    return text[:1].upper() + text[1:]


def listed(words: Sequence[str]) -> str:
    """As it is read aloud: "1, 8 and 32"; "" for none."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def counted(n: int, noun: str) -> str:
    """The number with its noun: "1 event", "3 events"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def clipped(name: str, longest: int) -> str:
    """The name cut in its middle, the one way to shorten: "my_resnet50_…nk0.json.gz".

    Both ends stay, because names of one family begin alike and end in what tells them apart.
    """
    if len(name) <= longest:
        return name
    tail = max(1, (longest - 1) // 2)
    return f"{name[: max(1, longest - 1 - tail)]}…{name[-tail:]}"


@dataclass(frozen=True)
class Statement:
    """A claim and what it rests on.

    claim has no full stop; evidence, where there is any, goes on after it in lower case to the end
    of the sentence.
    """

    claim: Phrase
    evidence: str = ""
    joint: str = ": "  # between the two in one sentence

    @property
    def heading(self) -> Phrase:
        """The claim as a sentence of its own."""
        return (*self.claim, ".")

    @property
    def grounds(self) -> str:
        """The evidence as a sentence of its own, below the heading."""
        return capitalised(self.evidence)

    @property
    def sentence(self) -> str:
        """Both in one."""
        return plain(self.claim) + (f"{self.joint}{self.evidence}" if self.evidence else ".")
