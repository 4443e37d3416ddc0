"""The GitHub action: its metadata is what GitHub reads, and its steps' shell does what it says."""

import json
import re
import sys
from pathlib import Path

import pytest

from builders import ran

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
CLAIMS = """
from embinit import Family, claim, experiment, training


@training(measures={"accuracy": "% accuracy"})
def fitted(seed, arm, gain=GAIN):
    import random

    return 80 + random.Random(f"{seed} {arm}").random() + (gain if arm == "tuned" else 0)


tried = experiment("tried", training=fitted, arms=["plain", "tuned"], baseline="plain", margin=1.0)
MINE = Family("mine/tried", size=1, says="Tuning")


@claim("mine/tried/tuned-above-plain", says="Tuning helps | <b>", family=MINE, on=tried)
def test_tuning_helps(arms):
    assert arms["tuned"] > arms["plain"]

"""


def test_the_metadata_is_what_github_reads() -> None:
    """Its fields and no others, each step either a shell's or another action's.

    Of docs.github.com/actions/reference/workflows-and-actions/metadata-syntax.
    """
    fields = {"name", "description", "author", "branding", "inputs", "outputs", "runs"}
    assert {"name", "description", "runs"} <= set(ACTION) <= fields
    assert ACTION["runs"]["using"] == "composite"
    for one in ACTION["inputs"].values():
        assert set(one) <= {"description", "required", "default", "deprecationMessage"}
        assert isinstance(one["default"], str)
    assert all(set(one) == {"description", "value"} for one in ACTION["outputs"].values())
    for step in STEPS:
        own = {"run", "shell", "env"} if "run" in step else {"uses", "with"}
        assert set(step) - {"name", "id", "if"} <= own
        assert ("run" in step) != ("uses" in step)
        assert "run" not in step or step["shell"] == "bash"
        assert "uses" not in step or re.fullmatch(r"actions/[\w/-]+@v\d+", step["uses"])


def test_inputs_are_used_and_never_pasted_into_a_shell() -> None:
    """An input in a script would be code; in the environment it is a word."""
    text = json.dumps(STEPS)
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert not [step["name"] for step in STEPS if "${{" in step.get("run", "")]
    documented = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    for name, one in ACTION["inputs"].items():
        assert f"| `{name}` |" in documented
        assert one["default"] == "" or f"`{one['default']}`" in documented


def step(name: str, folder: Path, outputs: dict[str, str], **inputs: str) -> int:
    """Runs a step's script in bash as a runner would, and returns its status."""
    [script] = [found for found in STEPS if found["name"] == name]
    defaults = {key: one["default"] for key, one in ACTION["inputs"].items()}
    values = {f"inputs.{key}": value for key, value in {**defaults, **inputs}.items()}
    values |= {f"steps.session.outputs.{key}": value for key, value in outputs.items()}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)

    environment = {key: filled(value) for key, value in script["env"].items()}
    environment |= {
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "PYTHONPATH": str(ROOT / "src"),
    }
    bash = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")
    done = ran(*bash, script["run"], cwd=folder, **environment)
    print(done.stdout, done.stderr)
    return done.returncode


def outputs_of(folder: Path) -> dict[str, str]:
    """What the last step has left for those after it."""
    lines = (folder / "output").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def job(folder: Path, gain: float, **inputs: str) -> tuple[int, str, dict[str, int]]:
    """A job: the last step's status, the summary, and how many runs were trained and read."""
    (folder / "claims").mkdir(exist_ok=True)
    (folder / "claims/test_it.py").write_text(CLAIMS.replace("GAIN", str(gain)), "utf-8")
    for name in ("output", "summary.md"):
        (folder / name).unlink(missing_ok=True)
    inputs = {"python": sys.executable, "workers": "0", **inputs}
    assert step("Judge the claims", folder, {}, **inputs) == 0
    outputs = outputs_of(folder)
    assert step("Write the summary", folder, outputs, **inputs) == 0
    ended = step("In order", folder, outputs, **inputs)
    summary = (folder / "summary.md").read_text("utf-8")
    document = json.loads((folder / "reports/latest/verdicts.json").read_text("utf-8"))
    return ended, summary, document["session"]["runs"]


def test_a_change_trains_what_it_moves_and_a_lost_finding_fails(tmp_path: Path) -> None:
    """With the store of the job before, and its verdicts as the baseline.

    A refuted claim alone fails the job unless it is accepted; a lost finding always does.
    """
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    arguments = "-p\nno:playwright\n-p\nno:randomly\n\n--embinit-max-seeds\n6"
    ended, summary, runs = job(tmp_path, 9.0, arguments=arguments)
    assert ended == 0
    assert summary.startswith("### embinit: 1 SUPPORTED, 0 REFUTED")
    assert "Tuning helps \\| &lt;b&gt; (tried)" in summary
    assert runs["stored"] == 0
    assert '"verdict" value="SUPPORTED"' in (tmp_path / "reports/latest/junit.xml").read_text()
    baseline = tmp_path / "blessed.json"
    baseline.write_bytes((tmp_path / "reports/latest/verdicts.json").read_bytes())
    ended, summary, runs = job(tmp_path, 9.0, arguments=arguments, baseline=baseline.name)
    assert (ended, runs["trained"]) == (0, 0)
    assert "No changes since the baseline" in summary
    lost = {"arguments": arguments, "baseline": baseline.name, "refuted": "accept"}
    ended, summary, runs = job(tmp_path, -9.0, **lost)
    assert (ended, runs["stored"]) == (1, 0)
    assert "**Not OK:**" in summary
    ended, summary, _ = job(tmp_path, -9.0, arguments=arguments, refuted="accept")
    assert (ended, "❌ REFUTED" in summary) == (0, True)
    assert step("In order", tmp_path, outputs_of(tmp_path), python=sys.executable) == 1


def test_a_weakened_finding_fails_where_the_job_is_strict(tmp_path: Path) -> None:
    """Each of the last steps gives the command what the job was given."""
    called = tmp_path / "called"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {called}\n', encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / "verdicts.json").touch()
    given = {"python": str(python), "report": ".", "baseline": "old.json", "fail-on": "moved=2"}
    for strict in ("false", "true"):
        for name in ("Write the summary", "In order"):
            assert step(name, tmp_path, {"status": "0"}, strict=strict, **given) == 0
    lines = called.read_text(encoding="utf-8").splitlines()
    assert all("--baseline old.json --fail-on=moved=2" in line for line in lines)
    assert ["--strict" in line for line in lines] == [False, False, True, True]
