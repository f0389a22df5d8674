"""API tokens in either database: made, used, revoked and expired as every process sees it."""

import pytest

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import api_tokens, database
from profiler_core.store.history.api_tokens import BadToken, checked_token, make_token
from profiler_core.store.history.people import known_person, remember_person
from tests.store.history.test_upgrades import an_old_history

ADA = "oidc:https://accounts.example.org#ada"


def test_a_token_lives_until_it_is_revoked_in_whatever_process(home):
    made, secret = make_token(ADA, "  Nightly \n CI ", ("upload", "read"), days=90)
    assert (made.name, made.scopes, made.state) == ("Nightly CI", ("read", "upload"), "active")
    assert made.last_used_at is None
    api_tokens.note_use(checked_token(secret))
    used = checked_token(secret)
    assert used.last_used_at is not None
    api_tokens.note_use(used)  # within the minute nothing is written
    assert checked_token(secret) == used
    database.close_all()  # as another process, which has its own connections
    api_tokens.revoke_token(made.token_id, person="root")
    with pytest.raises(BadToken, match="was revoked"):
        checked_token(secret)
    api_tokens.revoke_token(made.token_id, person="somebody else")
    assert api_tokens.token(made.token_id).revoked_by == "root"
    actions = [(entry.action, entry.person) for entry in history.entries()]
    assert actions == [("revoke token", "root"), ("make token", ADA)]
    assert not any(secret in str(entry) for entry in history.entries())


@pytest.mark.parametrize(
    ("name", "scopes", "days"),
    [("", ("read",), 90), ("x" * 101, ("read",), 90), ("a\0b", ("read",), 90), ("x", (), 90),
     ("x", ("read",), 0), ("x", ("read",), 366)],
)  # fmt: skip
def test_no_token_without_name_scope_and_end(home, name, scopes, days):
    with pytest.raises(BadInput):
        make_token(ADA, name, scopes, days=days)
    assert api_tokens.tokens() == ()
    assert history.entries() == ()


def test_nobody_has_more_than_some_tokens(home, monkeypatch):
    monkeypatch.setattr(api_tokens, "_MOST_ACTIVE", 2)
    for _ in range(2):
        made, _secret = make_token(ADA, "x", ("read",), days=1)
    with pytest.raises(BadInput, match="2 tokens already"):
        make_token(ADA, "x", ("read",), days=1)
    make_token("oidc:b#b", "x", ("read",), days=1)
    api_tokens.revoke_token(made.token_id, person=ADA)
    make_token(ADA, "x", ("read",), days=1)
    assert len(api_tokens.tokens(ADA)) == 3
    assert len(api_tokens.tokens()) == 4


def test_people_of_an_older_schema_are_in_no_group_until_they_come_back(home):
    (person, *_) = [row["person"] for row in an_old_history(home, "0004")["people"]]
    known = known_person(person)
    assert known is not None and known.groups == ()
    remember_person(person, issuer="i", subject="ada", address="", name="Ada", groups=("p", "q"))
    known = known_person(person)
    assert known is not None and (known.address, known.groups) == ("", ("p", "q"))


@pytest.mark.parametrize("run_id", ["a\0b", "", "x" * 10_000, "%", "' OR 1=1 --"])
def test_no_id_is_a_question_that_a_database_refuses(home, run_id):
    with pytest.raises(BadInput, match="has no run"):
        history.run(run_id)
