"""Render verdicts and run records as one self-contained HTML page.

It reads only the verdicts document and the records of the store, and decides nothing.
"""

from embinit.report.page import render, write_report
from embinit.report.reading import load_schema

__all__ = ["load_schema", "render", "write_report"]
