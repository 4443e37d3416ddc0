"""Render verdicts and run records as one self-contained HTML page.

It reads only the verdicts document and the records of the store, and decides nothing.
"""

from embinit.report.document import Document
from embinit.report.page import render, write_report
from embinit.report.reading import load_schema, read

__all__ = ["Document", "load_schema", "read", "render", "write_report"]
