"""A missing PostgreSQL is said in a sentence that one can act upon."""

import os

import pytest

from tests.debian import CannotInstallError
from tests.store.history import postgres


@pytest.fixture
def nothing_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres, "_DEBIAN", tmp_path)
    monkeypatch.setattr(postgres.shutil, "which", lambda name: None)
    return monkeypatch


def test_none_is_a_failure_and_no_skip(nothing_installed):
    with pytest.raises(postgres.NoPostgresError, match="make database"):
        postgres.find()
    with pytest.raises(CannotInstallError, match="no apt-get"):
        postgres.install()


def test_who_is_not_root_is_told_what_to_ask_for(nothing_installed):
    there = {"apt-get": "/usr/bin/apt-get"}
    nothing_installed.setattr(postgres.shutil, "which", there.get)
    nothing_installed.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotInstallError, match="sudo apt-get install"):
        postgres.install()


def test_root_installs_the_package(nothing_installed):
    there, asked = {"apt-get": "/usr/bin/apt-get"}, []
    nothing_installed.setattr(postgres.shutil, "which", there.get)
    nothing_installed.setattr(os, "geteuid", lambda: 0)
    nothing_installed.setattr(postgres.subprocess, "run", lambda argv, **_: asked.append(argv))
    with pytest.raises(postgres.NoPostgresError):  # nothing came of it
        postgres.install()
    assert asked[-1] == ["apt-get", "install", "-y", "-q", "postgresql"]
