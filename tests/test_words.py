"""What a person reads uses the field's words, and none that only this project has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROSE = ("docs/**/*.md", "*.md", "claims/**/*.md", "studies/**/*.md", "examples/**/*.md")
PROSE += ("benchmarks/README.md", "src/**/*.md", "src/**/*.j2", "src/**/*.txt", "action.yml")
PROSE += ("Makefile", ".ci/run", ".github/**/*.yml", "src/**/*.yml")
MESSAGES = ("src/**/*.py", "claims/embinit_papers/**/*.py", "studies/**/test_*.py")
WRITTEN = {"CHANGELOG.md", "STATEMENTS.md", "results.md"}  # a history, and what commands write

PHRASES = {
    r"made languages?": "synthetic language",
    r"drawn tables?": "randomly initialized table",
    r"(?:a|each|other|which) worlds?": "data draw",
    r"(?:first|last|next|later|further|single|at a|each) looks?(?! at)": "interim analysis",
    r"(?:is|are|was|were|stay|stays|left) open": "undecided",
    r"upheld": "supported",
    r"noise floors?": "standard deviation of the baseline",
    r"registered (?:beforehand|afterwards)": "preregistered, post hoc",
    r"hangs on (?:a |the )?seed": "not robust: changes without seed",
    r"too coarse to tell": "underpowered",
    r"(?:is|are|was) no (?:fault|proof|error|weak|claim's)": "is not a",
    r"held against": "compared with",
    r"beside (?:it|the|a|them|others)": "next to",
    r"stands? (?:for|beside|in|under|behind|where) (?:a|the|it|its|each)": "is, represents",
    r"(?:table|vectors|GloVe|BERT|embeddings) as (?:it is|they are)": "unscaled",
    r"wide tables?": "large-sigma embeddings",
    r"fares? (?:worse|better|alike|as)": "trains worse, better",
    r"(?:is|are|was|were) told": "reported, printed",
    r"(?:it|which|that|output|line|report) tells (?!apart)": "reports, shows",
    r"tell(?:s|ing)? (?:\w+ )?apart by": "name, distinguish",
    r"(?:a|its|whose|registered|each) spreads?": "standard deviation of the difference",
    r"(?<!-)cohorts?": "stack",
    r"faint positions": "downscaled positions",
}
"""Phrases that a newcomer stumbled over, and what is written instead."""

NAMED = ("id", "attr", "arg", "name")
"""Where nodes of a module's tree have names."""

PATTERN = re.compile("|".join(rf"(?P<p{n}>\b(?:{phrase})\b)" for n, phrase in enumerate(PHRASES)))


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that it may show, with their lines: all strings but docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            hidden.add(node.value)
        elif isinstance(node, ast.JoinedStr) and node not in hidden:
            hidden.update(node.values)
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in hidden:
            yield node.lineno, node.value


def texts() -> Iterator[tuple[str, int, str]]:
    """Each line that a person reads, with its file and its number."""
    paths = {path for pattern in PROSE for path in ROOT.glob(pattern)}
    for path in sorted(path for path in paths if path.name not in WRITTEN):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield str(path.relative_to(ROOT)), number, line
    for path in sorted(path for pattern in MESSAGES for path in ROOT.glob(pattern)):
        for number, text in messages(path):
            yield str(path.relative_to(ROOT)), number, text


def found(text: str) -> list[str]:
    """The phrases of a text that are to be others, with what is written instead."""
    instead = [*PHRASES.values()]
    return [
        f"{match[0]!r}: {instead[int(str(match.lastgroup)[1:])]}"
        for match in PATTERN.finditer(re.sub(r"`[^`]*`", "", text))
    ]


def test_no_text_has_a_private_phrase():
    """Names in code spans are free: those of options and files stay."""
    lost = [f"{file}:{line}: {phrase}" for file, line, text in texts() for phrase in found(text)]
    assert not lost, "\n".join(lost)


def test_no_name_in_the_code_is_a_private_word():
    """Who reads pages and code learns one language; what is stored or public keeps its name."""
    trees = (ast.parse(path.read_text("utf-8")) for path in ROOT.glob("src/**/*.py"))
    named = (getattr(node, of, "") for tree in trees for node in ast.walk(tree) for of in NAMED)
    words = {(str(name), word) for name in named for word in str(name).lower().split("_")}
    private = {name for name, word in words if re.fullmatch("worlds?|cohorts?", word)}
    assert private == {"WORLDS"}


@pytest.mark.parametrize("text", ["the last look", "a made language", "it fares worse", "a cohort"])
def test_a_private_phrase_is_found(text):
    assert found(text)
