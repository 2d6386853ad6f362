"""The shipped server settings, and the self-test that guards them."""

import tomllib
from pathlib import Path

import pytest
import streamlit as st

from pages.ui import selftest

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())


def shipped(name):
    section, key = name.split(".")
    return CONFIG[section][key]


@pytest.fixture
def answers(monkeypatch):
    """Let the self-test read the shipped settings, changed as the test wants."""

    def use(argv=("app.py",), **changed):
        wanted = {name: shipped(name) for name in selftest.EXPECTED}
        wanted["server.address"] = CONFIG["server"]["address"]
        wanted["server.allowedHosts"] = CONFIG["server"]["allowedHosts"]
        wanted |= {name.replace("__", "."): value for name, value in changed.items()}
        monkeypatch.setattr(st, "get_option", wanted.__getitem__)
        monkeypatch.setattr("sys.argv", list(argv))
        selftest.problems.cache_clear()
        return selftest.problems()

    yield use
    selftest.problems.cache_clear()


def test_the_shipped_settings_pass_and_are_summed_up_in_a_line(answers, capsys):
    assert answers() == ()
    lines = [line for line in capsys.readouterr().out.splitlines() if "settings" in line]
    assert lines == [f"self-test: {len(selftest.EXPECTED) + 2} settings as shipped, on 127.0.0.1"]
    (reason,) = answers(server__maxUploadSize="loose")
    assert f"self-test: {reason}, on 127.0.0.1" in capsys.readouterr().out


def test_make_app_says_size_and_minutes_first_and_the_address_last():
    makefile = (ROOT / "Makefile").read_text()
    installing = makefile.split("\n.venv/.app:")[1].split("\n\n")[0]
    assert installing.index("7 GB") < installing.index("minutes") < installing.index("pip install")
    assert "--quiet" not in installing  # pip's progress is shown
    *_, address, serving = makefile.split("\napp:")[1].split("\n\n")[0].splitlines()
    assert "Open http://127.0.0.1:$(PORT) and drop" in address
    assert "streamlit run app.py" in serving
    assert "7 GB" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("address", [None, "0.0.0.0", "192.168.1.5", "::"])
def test_a_public_address_is_refused_unless_the_operator_knows(answers, address):
    assert "no login" in answers(server__address=address)[0]
    assert answers(argv=("app.py", "--i-know"), server__address=address) == ()


@pytest.mark.parametrize("name", [n for n, v in selftest.EXPECTED.items() if v is not True])
def test_each_loosened_setting_is_found(answers, name):
    found = answers(**{name.replace(".", "__"): "loose"})
    assert len(found) == 1
    assert name in found[0]


@pytest.mark.parametrize("hosts", [[], ["*"]])
def test_an_open_host_list_is_found(answers, hosts):
    assert "allowedHosts" in answers(server__allowedHosts=hosts)[0]


def test_other_hosts_are_not_answered():
    assert CONFIG["server"]["allowedHosts"] == ["127.0.0.1", "localhost"]
