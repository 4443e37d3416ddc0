"""The package's pages say what is so: code runs, links lead somewhere, options and tests exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from embtables import cli

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
FENCE = re.compile(r"^```python\n((?:import|from) .*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks():
    """Each block of Python that is whole in itself, with its page."""
    for page in PAGES:
        for number, code in enumerate(FENCE.findall(page.read_text("utf-8"))):
            yield pytest.param(code, id=f"{page.name}-{number}")


def test_there_is_code_to_test():
    """A pattern that finds nothing would pass everything."""
    assert len([*blocks()]) >= 3


@pytest.mark.parametrize("code", [*blocks()])
def test_code_of_the_documents_runs(code, tmp_path):
    """In a process of its own, since it may register things."""
    command = [sys.executable, "-W", "error", "-c", code]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_every_page_is_linked(page):
    """The README is where one starts."""
    found = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    links = [link.partition("#")[0] for link in found if not link.startswith("http")]
    local = [page.parent / link for link in links]
    assert [link for link in local if not link.exists()] == []
    assert page.name == "README.md" or f"(docs/{page.name})" in PAGES[0].read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_an_option_or_a_command_that_is_not_there(page):
    [several] = [each for each in cli._parser()._actions if isinstance(each.choices, dict)]
    known = {word for each in several.choices.values() for word in each._option_string_actions}
    found = re.findall(r"```\S*(.*?)```|`([^`\n]+)`", page.read_text("utf-8"), re.S)
    code = "\n".join("\n".join(each) for each in found)
    assert not set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", code)) - known
    commands = set(re.findall(r"^\s*(?:\$ )?(?:embtables|embinit) ([a-z]+)", code, re.M))
    assert not commands - set(several.choices)


def test_each_line_on_trust_names_a_test_that_is_there():
    """A line without one would be a promise that nobody holds."""
    named = re.findall(r"`(test_\w+)::(test_\w+)`", PAGES[0].read_text("utf-8"))
    assert len(named) >= 2
    for file, test in named:
        assert f"def {test}(" in (ROOT / f"tests/{file}.py").read_text("utf-8"), (file, test)
