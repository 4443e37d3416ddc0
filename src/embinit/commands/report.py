"""``embinit report``: render verdicts.json as a page or Markdown."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from embinit.commands.arguments import add_baseline, compared
from embinit.errors import Status, printable
from embinit.options import LATEST


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    what = "render an HTML page or Markdown from verdicts.json"
    report = commands.add_parser("report", allow_abbrev=False, help=what)
    report.add_argument(
        "verdicts",
        type=Path,
        nargs="*",
        default=[Path(LATEST) / "verdicts.json"],
        help="one or more verdicts.json, each of another tier",
    )
    form = report.add_mutually_exclusive_group()
    form.add_argument("--to", type=Path, default=Path("report.html"), help="the HTML file")
    form.add_argument("--markdown", action="store_true", help="print Markdown instead")
    add_baseline(report)
    report.set_defaults(run=_report)


def _report(parsed: argparse.Namespace) -> int:
    from embinit.files.writing import write_atomically, writing
    from embinit.report import markdown, page
    from embinit.report.reading import read

    first, *others = documents = [read(path) for path in parsed.verdicts]
    if parsed.markdown and others:
        print(markdown.findings_as_markdown(documents), end="")
    elif parsed.markdown:
        print(markdown.as_markdown(first, compared(parsed, first)), end="")
    else:
        text = page.render(first, {}, others=others)
        with writing(str(parsed.to), "; name another --to"):
            write_atomically(parsed.to, text)
        print(printable(f"report: {parsed.to}"))
    return Status.OK
