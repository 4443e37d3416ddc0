"""Claims without pytest: judged together, and shown as rows, as a report.

::

    results = embinit.judge_all(test_tuning_helps, test_a_a)
    results.data_frame()
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embinit.claims.definitions import claim_of
from embinit.claims.entries import claim_entry
from embinit.claims.judging import ClaimTest, judge
from embinit.errors import InputError
from embinit.papers import printed_for
from embinit.report import write_report
from embinit.report.arms import Run
from embinit.report.baseline import read
from embinit.report.document import Circumstances, add_sampling_noise, make_document
from embinit.report.summary import totals
from embinit.report.verdict_table import verdict_lines
from embinit.runs.results import device_name
from embinit.runs.session import Session
from embinit.runs.store import Store


@dataclass(frozen=True, repr=False)
class Results:
    """The results of several claims.

    Attributes:
        document: The verdicts document, which follows ``embinit.report.load_schema()``.
        runs: The runs behind it by key; empty where only the document is known.
    """

    document: Mapping[str, Any]
    runs: Mapping[str, Run] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Results:
        """The results of a session, from its ``verdicts.json``.

        Raises:
            InputError: The file is no verdicts document.
        """
        return cls(read(Path(path)))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each comparison of each claim; one without numbers for a claim not run."""
        rows = []
        for claim in self.document["claims"]:
            about = {
                name: claim[name]
                for name in ("id", "statement", "verdict", "control", "family", "experiment")
            }
            for number, entry in enumerate(claim["comparisons"] or [{}], start=1):
                arms = entry.get("arms", {})
                low, high = entry.get("interval", (None, None))
                rows.append(
                    {
                        **about,
                        "comparison": number if entry else None,
                        "left": arms.get("left"),
                        "relation": entry.get("relation"),
                        "right": arms.get("right"),
                        "came_out": entry.get("verdict"),
                        "difference": entry.get("difference"),
                        "low": low,
                        "high": high,
                        "unit": entry.get("unit"),
                        "p": entry.get("p"),
                        "alpha": entry.get("alpha"),
                        "seeds": entry.get("n"),
                    }
                )
        return rows

    def data_frame(self) -> Any:
        """The rows as a data frame of pandas.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError:
            raise InputError("a data frame takes pandas: pip install pandas") from None
        return pandas.DataFrame(self.rows())

    def write(self, directory: str | Path) -> Path:
        """Writes the report: ``index.html`` and ``verdicts.json``.

        Returns:
            The page's path.

        Raises:
            InputError: The folder can't be written.
        """
        return write_report(self.document, self.runs, Path(directory))

    def __repr__(self) -> str:
        """What the claims came to, in a line."""
        return f"<Results: {'; '.join(totals(self.document['summary']))}>"

    def __str__(self) -> str:
        """The table of the verdicts, as a session ends with it."""
        return "\n".join(verdict_lines(self.document, None, False))


def judge_all(
    *tests: ClaimTest,
    store: str | Path = ".embinit/store",
    tier: str = "micro",
    data_dir: str | Path | None = None,
    device: str = "cpu",
    max_seeds: int | None = None,
    train: bool = True,
) -> Results:
    """Judges claims in all their experiments, training what the store lacks.

    The verdicts are those that pytest comes to. A family has to have its size: nobody counts the
    claims of a notebook.

    Args:
        tests: Functions that ``claim`` decorates, and controls.
        store: Where runs are kept.
        tier: The tier.
        data_dir: The directory with real data, if claims need any.
        device: The device to train on.
        max_seeds: The most seeds of a look, in place of the experiment's.
        train: Whether what the store lacks may be trained.

    Raises:
        InputError: One of them is no claim, can't be read, or has no experiment on this tier.
    """
    started = time.time()
    session = Session(
        Store(Path(store)), None if data_dir is None else Path(data_dir), device, (), train
    )
    judgements = [
        judge(test, replace(each, most_seeds=max_seeds or each.most_seeds), session)
        for test in tests
        for each in _experiments(test, tier)
    ]
    entries = [claim_entry(each, "", session.key, printed_for) for each in judgements]
    circumstances = Circumstances(
        tier=tier,
        device=device_name(device),
        command="embinit.judge_all",
        started=started,
        seconds=time.time() - started,
        data_dir_given=data_dir is not None,
    )
    document, runs = make_document(entries, [], session.store, circumstances)
    add_sampling_noise(document, runs)
    return Results(document, runs)


def _experiments(test: ClaimTest, tier: str) -> Sequence[Any]:
    claim = claim_of(test)
    experiments = claim.experiments(tier)
    if not experiments:
        raise InputError(f"{claim.id} has no experiment on tier {tier}")
    return experiments
