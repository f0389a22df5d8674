"""A review: what a team made of a comparison, with what was known when it was written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

ReviewVerdict = Literal["accept", "regression", "needs work", "can't tell"]
VERDICTS: tuple[ReviewVerdict, ...] = get_args(ReviewVerdict)
FindingState = Literal["open", "doing", "done", "won't do"]
STATES: tuple[FindingState, ...] = get_args(FindingState)


@dataclass(frozen=True)
class ReviewSide:
    """One run of a review; the baseline has no verdict, headline or details."""

    key: str  # of the library: opens the run
    run_id: str | None  # of the history; None: a sample, or opened by its path
    label: str
    workload: str = ""
    facts: str = ""  # training, precision, GPU …
    verdict: str = ""  # the kind that analysis/verdict.py gave it then
    headline: str = ""
    details: str = ""


@dataclass(frozen=True)
class ReviewFinding:
    """What stood out in a candidate, in the words of that time."""

    position: int  # of the candidate among the sides, from 1
    key: str  # of analysis/findings.py: the same finding next week has the same key
    title: str
    evidence: str
    advice: str
    stake: str  # "0.41 ms"
    unit: str  # "per step", "once"
    page: str  # where it shows
    weight: str
    at_stake_ns: float | None = None  # per step; None: no number, or kept by an earlier version
    is_bound: bool | None = None  # at_stake_ns is an upper bound; None as above

    @property
    def reference(self) -> tuple[int, str]:
        """What names it within its review."""
        return self.position, self.key


@dataclass(frozen=True)
class Difference:
    """The unprofiled step times of two runs of one workload, and what was expected of it."""

    before_run_id: str
    after_run_id: str
    before_ns: float  # per step
    after_ns: float
    # What a step gained, before - after; the 95 % interval of the noise model. None: few rounds.
    gained_ns: tuple[float, float] | None = None
    predicted_ns: float | None = None  # what the finding put at stake per step
    is_bound: bool = False  # predicted_ns is the most that could be gained

    @property
    def realised(self) -> float | None:
        """The share of the prediction that came true; negative where steps became longer."""
        return (self.before_ns - self.after_ns) / self.predicted_ns if self.predicted_ns else None

    @property
    def is_beyond_noise(self) -> bool | None:
        """Does the interval leave 0 out? None: there is no interval."""
        return None if self.gained_ns is None else not self.gained_ns[0] <= 0 <= self.gained_ns[1]


@dataclass(frozen=True)
class FindingTask:
    """Who looks after a finding, until when, and what became of it."""

    position: int
    key: str
    owner: str  # an account or a name; empty: nobody
    state: FindingState
    due: str | None  # "2026-12-01"
    changed_at: str
    changed_by: str
    version: int  # grows with each change
    difference: Difference | None = None  # with which it was closed


@dataclass(frozen=True)
class ReviewNote:
    """What somebody wrote; notes are added, and only their writer takes them back."""

    note_id: int
    text: str
    written_at: str
    person: str
    finding: str | None  # its key; None: about the review as a whole
    position: int | None  # of the candidate with that finding


@dataclass(frozen=True)
class SignOff:
    """Somebody's name under a verdict; signing again replaces it."""

    person: str
    decision: ReviewVerdict
    signed_at: str
    note: str


@dataclass(frozen=True)
class ReviewHead:
    """A review in a list."""

    review_id: str
    title: str
    template: str  # "weekly", or empty
    verdict: ReviewVerdict | None  # None: open
    created_at: str
    changed_at: str
    person: str
    workload: str
    n_notes: int
    signed_by: tuple[str, ...]


@dataclass(frozen=True)
class Review:
    """All of it. `version` grows with each change of title, summary or verdict."""

    review_id: str
    title: str
    template: str
    summary: str
    verdict: ReviewVerdict | None
    created_at: str
    changed_at: str
    person: str
    changed_by: str
    version: int
    sides: tuple[ReviewSide, ...]  # the baseline first
    findings: tuple[ReviewFinding, ...]  # by candidate, most important first
    notes: tuple[ReviewNote, ...]  # oldest first
    sign_offs: tuple[SignOff, ...]  # oldest first
    tasks: tuple[FindingTask, ...] = ()  # of findings that somebody took up
    names: Mapping[str, str] = field(default_factory=dict)  # person -> what is shown

    def name_of(self, person: str) -> str:
        """What is shown for somebody who began, wrote or signed."""
        return self.names.get(person, person)

    def notes_on(self, finding: ReviewFinding) -> tuple[ReviewNote, ...]:
        """What was written about one finding of one candidate."""
        about = (finding.key, finding.position)
        return tuple(note for note in self.notes if (note.finding, note.position) == about)

    def task_of(self, finding: ReviewFinding) -> FindingTask | None:
        """Who looks after a finding; None: nobody took it up yet."""
        about = finding.reference
        return next((task for task in self.tasks if (task.position, task.key) == about), None)

    @property
    def general_notes(self) -> tuple[ReviewNote, ...]:
        """What was written about the review as a whole."""
        return tuple(note for note in self.notes if note.finding is None)
