"""A report on paper where Chromium may not build its sandbox, as in most containers."""

import os
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.report import pdf

# What Chromium 130 writes under Docker's own seccomp profile.
NO_SANDBOX = (
    "[1:1:FATAL:content/browser/zygote_host/zygote_host_impl_linux.cc:127] No usable sandbox! "
    "If you are running on Ubuntu 23.10+ or another Linux distro that has disabled unprivileged "
    "user namespaces with AppArmor, see https://chromium.googlesource.com/"
)


@pytest.fixture
def browser(tmp_path: Path, monkeypatch) -> Path:
    """It prints only without a sandbox, and not as root."""
    program = tmp_path / "chromium"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--no-sandbox*) ;; *) echo "' + NO_SANDBOX + '" >&2; exit 133;; esac\n'
        'for word; do case "$word" in --print-to-pdf=*) echo PDF > "${word#*=}";; esac; done\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(program))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return program


def test_it_says_what_to_do(browser):
    with pytest.raises(BadInput) as error:
        pdf.pdf("<p>report</p>")
    assert error.value.problem == (
        f"{browser} may not build its sandbox here, as in most containers."
    )
    assert "FUSIONSCOPE_PDF_WITHOUT_SANDBOX=1" in error.value.remedy
    assert "docs/deploy.md" in error.value.remedy


def test_the_owner_may_do_without_it(browser, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_PDF_WITHOUT_SANDBOX", "1")
    assert pdf.pdf("<p>report</p>") == b"PDF\n"


def test_a_sandbox_is_never_given_up_unasked(browser, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_PDF_WITHOUT_SANDBOX", "0")
    with pytest.raises(BadInput):
        pdf.pdf("<p>report</p>")
