"""`serve --check`: everything that is wrong with a server is said at once, and never a secret."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.operate.checks import faults_of
from profiler_core.operate.plan import Plan
from profiler_core.operate.secret_checks import name_in
from profiler_core.store.history import artifacts, database, migrate

NAME = "fusionscope.example.org"
SECRETS = """
[auth]
redirect_uri = "https://fusionscope.example.org/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef0123456789abcdef"
client_id = "fusionscope"
client_secret = "s3cret-client"
server_metadata_url = "https://login.example.net/.well-known/openid-configuration"
"""
TEAM = '[team]\nviewers = ["*@example.org"]\nadmins = ["ada@example.org"]\n'


class Server:
    """The files of a server, and what is wrong with them."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.secrets = home, home.parent / "secrets.toml"
        self.write(TEAM)
        self.write_secrets(SECRETS)

    def write(self, text: str) -> None:
        (self.home / "settings.toml").write_text(text)

    def write_secrets(self, text: str) -> None:
        self.secrets.write_text(text)
        self.secrets.chmod(0o600)

    def faults(self, is_to_start: bool = False, **plan: object) -> list[tuple[str, str, str]]:
        """(the file's name, key, value) of what stops it."""
        faults = faults_of(self.plan(**plan), is_to_start=is_to_start)
        assert all(fault.problem and fault.remedy for fault in faults)
        return [(Path(f.file).name, f.key, f.value) for f in faults if f.stops]

    def advice(self, **plan: object) -> list[str]:
        return [f.remedy for f in faults_of(self.plan(**plan), is_to_start=False) if not f.stops]

    def text(self, **plan: object) -> str:
        return "\n".join(f.text for f in faults_of(self.plan(**plan), is_to_start=False))

    def plan(self, **plan: object) -> Plan:
        return Plan(**{"name": NAME, "secrets": self.secrets, **plan})  # type: ignore[arg-type]


@pytest.fixture
def server(home: Path, monkeypatch) -> Server:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return Server(home)


def test_a_server_as_it_should_be_has_no_fault(server):
    assert server.faults() == []


def test_all_that_is_wrong_is_said_at_once(server):
    server.write(
        'allow_capturee = true\nlargest_upload_gb = "8"\nkeep_days = 0\nmetrics_token = "short"\n'
        'interpreters = ["/nothing/here"]\nopen_below = ["/nothing/there"]\n'
        "[jobs]\nin_all = 0\nat_onse = 2\n"
        '[team]\nviewers = ["ada", "group:"]\nadmin = ["ada@example.org"]\n'
    )
    server.write_secrets(
        '[auth]\nredirect_uri = "http://other.example.org/callback"\ncookie_secret = "short"\n'
    )
    server.secrets.chmod(0o644)
    assert set(server.faults(name="x/y", address="0.0.0.0")) == {
        ("command line", "--name", "x/y"),
        ("command line", "--address", "0.0.0.0"),
        ("settings.toml", "allow_capturee", "true"),
        ("settings.toml", "largest_upload_gb", "'8'"),
        ("settings.toml", "keep_days", "0"),
        ("settings.toml", "metrics_token", "(5 characters)"),
        ("settings.toml", "interpreters", "'/nothing/here'"),
        ("settings.toml", "open_below", "/nothing/there"),
        ("settings.toml", "jobs.in_all", "0"),
        ("settings.toml", "jobs.at_onse", "2"),
        ("settings.toml", "team.viewers", "'ada'"),
        ("settings.toml", "team.viewers", "'group:'"),
        ("settings.toml", "team.admin", "['ada@example.org']"),
        ("secrets.toml", "", "mode 0644"),
        ("secrets.toml", "auth.redirect_uri", "'http://other.example.org/callback'"),
        ("secrets.toml", "auth.cookie_secret", "(5 characters)"),
        ("secrets.toml", "auth.client_id", ""),
        ("secrets.toml", "auth.client_secret", ""),
        ("secrets.toml", "auth.server_metadata_url", ""),
    }


def test_a_provider_without_a_readable_address_is_a_fault_and_no_traceback(server):
    server.write(TEAM)
    server.write_secrets(SECRETS.replace("https://login.example.net", "http://[login"))
    ((file, key, _),) = server.faults()
    assert (file, key) == ("secrets.toml", "auth.server_metadata_url")


def test_a_key_that_is_almost_right_is_told_the_right_one(server):
    server.write("largest_uplaod_gb = 8\n" + TEAM)
    assert "Write largest_upload_gb, or remove it." in server.text()


def test_no_secret_is_repeated(server):
    server.write('database_url = ["s3cret-database"]\nmetrics_token = 12345\n' + TEAM)
    server.write_secrets(SECRETS.replace("https://login", "http://login") + "s3cret = [broken")
    assert "s3cret" not in server.text()
    assert "12345" not in server.text()


@pytest.mark.parametrize("text", ["[team\n", "\xff"])
def test_a_file_that_is_no_toml(server, text):
    (server.home / "settings.toml").write_bytes(text.encode("latin-1"))
    assert server.faults() == [("settings.toml", "", "")]


@pytest.mark.parametrize(
    "text", ["", '[team]\ngroups_claim = "groups"\n', "[team]\nviewers = []\n"]
)
def test_a_server_where_nobody_has_a_role(server, text):
    server.write(text)
    assert server.faults() == [("settings.toml", "[team]", "")]


def test_roles_of_the_example_are_nobodys(server):
    server.write_secrets(SECRETS.replace(NAME, "fs.company.com"))
    assert server.faults(name="fs.company.com") == [
        ("settings.toml", "team.viewers", "'*@example.org'"),
        ("settings.toml", "team.admins", "'ada@example.org'"),
    ]


def test_nobody_to_delete_and_to_read_the_audit_is_advice(server):
    server.write('[team]\nviewers = ["*@example.org"]\n')
    assert server.faults() == []
    assert any("who run the server" in remedy for remedy in server.advice())


def test_the_shipped_examples_lack_only_what_the_provider_gives(server, pytestconfig):
    deploy = pytestconfig.rootpath / "deploy"
    shutil.copy(deploy / "settings.toml", server.home)
    server.write_secrets((deploy / "secrets.toml").read_text())
    assert server.faults() == [
        ("secrets.toml", "auth.client_id", "'of the application that you registered'"),
        ("secrets.toml", "auth.client_secret", "'of it, too'"),
        ("secrets.toml", "auth.server_metadata_url",
         "'https://accounts.example.org/.well-known/openid-configuration'"),
        ("secrets.toml", "auth.cookie_secret",
         "(78 characters)"),
    ]  # fmt: skip


def test_sign_in_of_several_providers(server):
    provider = SECRETS.split("\n", 4)[4]
    top = SECRETS.removesuffix(provider)
    server.write_secrets(f"{top}\n[auth.google]\n{provider}\n[auth.other]\nclient_id = 'x'\n")
    assert server.faults() == [
        ("secrets.toml", "auth.other.client_secret", ""),
        ("secrets.toml", "auth.other.server_metadata_url", ""),
    ]


def test_where_people_sign_in(server):
    server.secrets.unlink()
    assert server.faults() == [("secrets.toml", "", "")]
    server.secrets.symlink_to(server.secrets)  # root may read everything else
    assert server.faults() == [("secrets.toml", "", "")]


@pytest.mark.parametrize(
    ("uri", "base", "is_right"),
    [
        ("https://fusionscope.example.org/oauth2callback", "", True),
        ("https://fusionscope.example.org/fs/oauth2callback", "fs", True),
        ("https://fusionscope.example.org/oauth2callback", "fs", False),
        ("http://fusionscope.example.org/oauth2callback", "", False),
        ("https://fusionscope.example.org/", "", False),
        ("https://[/oauth2callback", "", False),
    ],
)
def test_the_way_back_from_the_provider(server, uri, base, is_right):
    server.write_secrets(SECRETS.replace("https://fusionscope.example.org/oauth2callback", uri))
    faults = server.faults(base_path=base)
    assert faults == ([] if is_right else [("secrets.toml", "auth.redirect_uri", repr(uri))])


def test_the_name_is_told_by_the_way_back(server):
    assert name_in(server.secrets) == NAME
    assert name_in(server.home / "nothing") == ""


def test_a_database_that_cannot_be_reached(server, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", "postgresql://fs:s3cret@127.0.0.1:1/fs")
    assert server.faults() == [("environment", "FUSIONSCOPE_DATABASE_URL", "")]
    assert "s3cret" not in server.text()
    assert "fs:***@127.0.0.1:1" in server.text()
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL")
    server.write('database_url = "mysql://x/y"\n' + TEAM)
    assert server.faults() == [("settings.toml", "database_url", "")]


def test_a_database_of_a_newer_version_is_left_as_it_is(server, monkeypatch):
    database.ping()
    database.close_all()
    monkeypatch.setattr(migrate, "HEAD", "0001")
    file = server.home / "history.sqlite3"
    before = file.read_bytes()
    assert server.faults() == [("settings.toml", "database_url", "")]
    assert "written by a newer Fusionscope" in server.text()
    assert file.read_bytes() == before


def test_a_check_makes_no_database(server):
    assert server.faults() == []
    assert not (server.home / "history.sqlite3").exists()


def test_artifacts_are_written_to_and_left_as_they_were(server, tmp_path, monkeypatch):
    folder = tmp_path / "artifacts"
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", folder.as_uri())
    assert server.faults() == []
    assert list(folder.iterdir()) == []
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "file" / "x").as_uri())
    assert server.faults() == [("environment", "FUSIONSCOPE_ARTIFACTS_URL", "")]
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", "nothing-known://x")
    assert server.faults() == [("environment", "FUSIONSCOPE_ARTIFACTS_URL", "")]


def test_a_listing_does_not_show_what_a_check_writes(home, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", tmp_path.as_uri())
    store = artifacts.artifacts()
    monkeypatch.setattr(store.files, "rm_file", lambda _path: None, raising=False)
    store.check()
    assert [path.name[:7] for path in tmp_path.iterdir() if path.is_file()] == [".check."]
    assert store.names() == ()


def test_a_disk_without_room_and_a_home_that_cannot_be_written(server, monkeypatch):
    usage = shutil.disk_usage("/")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**8))
        assert server.faults() == [("environment", "FUSIONSCOPE_HOME", str(server.home))]
        assert "only 100 MB left" in server.text()
    (server.home / "cache").write_text("a file where the folder belongs")
    assert server.faults() == [("environment", "FUSIONSCOPE_HOME", str(server.home / "cache"))]


def test_an_address_that_others_reach(server):
    assert server.faults(address="0.0.0.0") == [("command line", "--address", "0.0.0.0")]
    assert server.faults(address="0.0.0.0", is_behind_proxy=True) == []


def test_captures_without_an_interpreter_that_could_run_one(server, monkeypatch):
    monkeypatch.setattr(
        "profiler_core.operate.setting_checks.find_spec",
        lambda name: None if name == "torch" else object(),
    )
    server.write("allow_capture = true\n" + TEAM)
    assert server.faults() == [("settings.toml", "allow_capture", "true")]
    server.write("interpreters = []\n" + TEAM)
    assert server.faults() == []


def test_captures_as_a_user_who_is_not_there(server):
    server.write('allow_capture = true\nrunner_user = "nobody-here"\n' + TEAM)
    assert server.faults() == [("settings.toml", "runner_user", "'nobody-here'")]
    server.write('runner_user = "nobody-here"\n' + TEAM)  # no capture is ever started
    assert server.faults() == []


def test_a_port_that_is_taken_matters_only_to_a_start(server):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert server.faults(port=port) == []
        assert server.faults(is_to_start=True, port=port) == [
            ("command line", "--port", f"127.0.0.1:{port}")
        ]


def test_what_only_the_owner_can_check_is_said_with_its_number(server):
    assert server.advice() == [
        "Set client_max_body_size 8g in nginx, or max_size 8GB in Caddy: largest_upload_gb is 8."
    ]
    server.write("largest_upload_gb = 0.05\n" + TEAM)
    assert server.advice() == [
        "Set client_max_body_size 48m in nginx, or max_size 50MB in Caddy: "
        "largest_upload_gb is 0.05."
    ]
    server.write("largest_upload_gb = 20.5\n" + TEAM)
    (limit, upstream) = server.advice(n_workers=2)
    assert "client_max_body_size 20g in nginx, or max_size 21GB" in limit  # 20 GiB are 21.5 GB
    assert upstream.endswith("server 127.0.0.1:8501; server 127.0.0.1:8502;")


def test_root_is_told_to_be_somebody_else(server, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert server.faults() == []
    assert any("a user of its own" in remedy for remedy in server.advice())


def test_the_log_that_there_is_not(server, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_LOG", "xml")
    assert server.faults() == [("environment", "FUSIONSCOPE_LOG", "")]


def test_the_verb_answers_by_its_status(server, capsys):
    words = ["serve", "--check", "--secrets", str(server.secrets)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out == f"The server can start as {NAME}.\n"
    assert "To check: the proxy: its largest body" in said.err
    assert main([*words, "--base-path", "fs"]) == 1
    assert capsys.readouterr().err.endswith("The server does not start: 1 setting is wrong.\n")
    assert main([*words, "--workers", "0"]) == 2
    assert main([*words, "--port", "65536"]) == 2
