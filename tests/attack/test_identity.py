"""Whoever calls themselves like another is not that person: accounts count, never names."""

from collections import OrderedDict
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.model.review import ReviewSide
from profiler_core.owner_file import write_owner
from profiler_core.person import account, shown_name, system_user, typed_name
from profiler_core.store import history, library
from profiler_core.ui.review.writer import may_delete as may_delete_review
from profiler_core.ui.review.writer import writer
from profiler_core.ui.runs.ownership import may_delete, owner
from profiler_core.ui.sign_in.deeds import note_look, note_sign_in, note_sign_out
from profiler_core.ui.sign_in.visitor import visitor
from tests.attack.conftest import ISSUER, RUNNER, Server
from tests.everything import comparisons
from tests.store.history.samples import redated_copy

TEAM = """
[team]
runners = ["*@example.org", "group:performance"]
"""
ADA = account(ISSUER, "ada")
MEMBER = {"groups": ["performance"]}


def upload_of(home: Path, person: str) -> library.Comparable:
    folder = home / "uploads" / "20260101-000000-00000001"
    redated_copy(home, "c1").rename(folder_of_run(folder))
    write_owner(folder, person)
    return next(group for group in comparisons() if group.origin == "upload")


def folder_of_run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder / "1"


@pytest.mark.parametrize(
    ("subject", "more"),
    [
        ("mallory", {"email": None, "name": "ada@example.org", **MEMBER}),
        ("mallory", {"email": "ada@example.org", "email_verified": False, **MEMBER}),
        ("mallory", {"email": "ada@example.org", "email_verified": None, **MEMBER}),
        ("ada", {"iss": "https://accounts.evil.example", **MEMBER}),
        ("mallory", {"name": ADA, "email": ADA, **MEMBER}),
    ],
)
def test_a_name_or_an_unverified_address_opens_nothing_of_anothers(
    server: Server, home: Path, subject: str, more: dict[str, object]
) -> None:
    group = upload_of(home, ADA)
    server.is_at("127.0.0.1", TEAM, subject, **more)
    who = visitor()
    assert who is not None and who.may("upload")
    assert not may_delete(group, visitor())
    assert not may_delete_review(ADA)
    assert writer() != ADA
    assert not who.is_person("ada@example.org")  # of a version that recorded addresses


def test_ones_own_stays_ones_own_under_another_name_and_address(server: Server, home: Path) -> None:
    group = upload_of(home, ADA)
    for more in (
        {"email": "ada@example.org", "name": "Ada"},
        {"email": "ada.lovelace@example.org", "name": "Countess", "nonce": "2"},
        {"email": None, **MEMBER},
    ):
        server.is_at("127.0.0.1", TEAM, "ada", **more)
        assert may_delete(group, visitor())
        assert writer() == ADA


def test_what_older_versions_recorded_by_address_belongs_to_who_holds_it(
    server: Server, home: Path
) -> None:
    group = upload_of(home, "ada@example.org")
    server.is_at("127.0.0.1", TEAM, "1234", email="Ada@Example.org")
    assert may_delete(group, visitor())
    server.is_at("127.0.0.1", TEAM, "5678", email="bob@example.org", name="ada@example.org")
    assert not may_delete(group, visitor())


def test_no_typed_name_passes_for_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    assert typed_name(f"oidc: oidc:{ADA}").startswith("https://")
    monkeypatch.setenv("FUSIONSCOPE_PERSON", ADA)
    assert not system_user().startswith("oidc:")


def test_two_issuers_or_subjects_are_never_one_account() -> None:
    pairs = [("a", "b#c"), ("a#b", "c"), ("https://x", "y" * 300), ("https://x", "y" * 299 + "z")]
    assert len({account(*pair) for pair in pairs}) == 4
    assert all(len(account(*pair)) <= 200 for pair in pairs)


def test_a_shown_name_tells_people_of_one_name_apart() -> None:
    assert shown_name("Ada", "ada@example.org", "1") == "ada@example.org"
    assert shown_name("ada@example.org", "", "2") == "ada@example.org (2)"
    assert shown_name("", "", "3") == "3"


def test_an_upload_is_recorded_as_its_persons_and_not_the_servers(
    server: Server, home: Path
) -> None:
    group = upload_of(home, ADA)
    assert history.record(group.entries[0].path).person == ADA
    assert history.entries(action="record")[0].person == ADA


def test_a_file_inside_a_run_makes_nobody_its_person(server: Server, home: Path) -> None:
    directory = redated_copy(home, "c1")
    write_owner(directory, ADA)  # by an import, or by the code that was captured
    assert history.record(directory).person == system_user()


def test_a_captures_owner_survives_the_list_of_jobs(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = redated_copy(home, "c1")
    write_owner(directory.parent, ADA)
    monkeypatch.setattr(jobs, "owner_of_capture", lambda _: None)
    group = next(group for group in comparisons() if group.origin == "capture")
    assert owner(group) == ADA
    assert history.record(directory).person == ADA
    server.is_at("127.0.0.1", TEAM, "ada", **MEMBER)
    assert may_delete(group, visitor())


# --- the audit ---


def test_coming_looking_and_leaving_are_recorded_once_each(server: Server) -> None:
    server.is_at("127.0.0.1", TEAM, RUNNER, nonce="audit-1")
    who = visitor()
    assert who is not None
    for _ in range(3):
        note_sign_in(who)
        note_look(who, ("run/a/eager", "run/a/default"))
    note_sign_out(who)
    entries = history.entries(person=who.person)
    assert [entry.action for entry in entries] == ["sign out", "look", "sign in"]
    assert entries[1].subject == "run/a/eager, run/a/default"
    assert {entry.name for entry in entries} == {RUNNER}


def test_a_look_that_can_be_recorded_nowhere_is_refused_each_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("127.0.0.1", TEAM, RUNNER, nonce="audit-nowhere")
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", "sqlite:////nowhere/at/all/history.sqlite3")
    (server.home / "audit_waiting.jsonl").mkdir()
    for _ in range(2):
        with pytest.raises(history.NotRecorded, match="is not done without"):
            note_look(visitor(), ("run/a/eager",))


def test_another_process_does_not_record_the_same_sign_in_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("127.0.0.1", TEAM, RUNNER, nonce="audit-2")
    who = visitor()
    assert who is not None
    note_sign_in(who)
    monkeypatch.setattr("profiler_core.ui.sign_in.deeds._recorded", OrderedDict())
    monkeypatch.setattr("profiler_core.ui.sign_in.deeds._is_new", lambda *_: True)
    note_sign_in(who)
    assert len(history.entries(person=who.person, action="sign in")) == 1


def test_a_changed_name_is_shown_for_what_was_done_before(server: Server, home: Path) -> None:
    server.is_at("127.0.0.1", TEAM, "ada", nonce="n1", email="ada@example.org")
    first = visitor()
    assert first is not None
    note_sign_in(first)
    server.is_at("127.0.0.1", TEAM, "ada", nonce="n2", email="ada.lovelace@example.org")
    second = visitor()
    assert second is not None
    note_sign_in(second)
    names = {entry.name for entry in history.entries(person=first.person)}
    assert names == {"ada.lovelace@example.org"}


def test_a_review_shows_names_and_keeps_accounts(server: Server, home: Path) -> None:
    server.is_at("127.0.0.1", TEAM, "ada", nonce="n3", email="ada@example.org")
    who = visitor()
    assert who is not None
    note_sign_in(who)
    side = ReviewSide("sample/breaky/eager", None, "eager")
    review_id = history.begin_review("Title", [side], [], person=writer())
    review = history.review(review_id)
    assert review.person == who.person
    assert review.name_of(review.person) == "ada@example.org"


@pytest.mark.parametrize("subject", ["ada ", "ada  lovelace", " ada", "ada\t"])
def test_who_differs_in_spaces_signs_and_takes_back_nothing_of_anothers(
    home: Path, subject: str
) -> None:
    """A review's names are written without further spaces; a subject may have them."""
    ada, mallory = account(ISSUER, " ".join(subject.split())), account(ISSUER, subject)
    review_id = history.begin_review("x", [ReviewSide("k", None, "a")], [], person=ada)
    history.sign_off(review_id, "accept", person=ada)
    history.add_note(review_id, "mine", person=ada)
    history.sign_off(review_id, "regression", person=mallory)
    (note,) = history.review(review_id).general_notes
    with pytest.raises(BadInput, match="someone else"):
        history.delete_note(review_id, note.note_id, person=mallory)
    signed = {sign.person: sign.decision for sign in history.review(review_id).sign_offs}
    assert signed == {ada: "accept", mallory: "regression"}
