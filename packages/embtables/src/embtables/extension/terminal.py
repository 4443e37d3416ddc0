"""An extension's report as text for the terminal."""

from __future__ import annotations

import textwrap

from embtables.extension import REPORT, ExtendedRow, Extension

WIDTH = 96
SHOWN = 10


def as_text(extension: Extension) -> str:
    """The report as text: what was written, and what each new row is made of."""
    made = len(extension.made)
    lines = [
        f"{extension.to}: {extension.old_rows:,} rows became {extension.rows:,}; "
        f"{extension.kept:,} kept, {made:,} made by {extension.method}"
        + (f", {extension.spare:,} without a token" if extension.spare else ""),
        f"  rewritten: {', '.join(extension.tensors)}; "
        + ("the tables are one" if extension.tied else "an output table of its own"),
    ]
    medians = ", ".join(f"{side} {norm:.3g}" for side, norm in extension.median_norms.items())
    lines.append(f"  median norm of the old rows: {medians}")
    if extension.hull:
        lines.append(
            "  every new row lies in the hull of the old ones"
            + (": no greedy answer changes" if extension.answers else "")
        )
    if extension.kl_bound is not None:
        lines.append(
            f"  the answers diverge from the old ones by at most {extension.kl_bound:.3g} nats"
        )
    if extension.left_out:
        lines += textwrap.wrap(
            f"left out, since they hold the old table: {', '.join(extension.left_out)}",
            WIDTH,
            initial_indent="  ",
            subsequent_indent="  ",
        )
    width = max((len(row.token) for row in extension.made[:SHOWN]), default=0)
    lines += [f"  {_row(row, width, extension.method)}" for row in extension.made[:SHOWN]]
    if made > SHOWN:
        lines.append(f"  and {made - SHOWN:,} more: {REPORT} in the directory has them all")
    fallen = sum(_drawn(row, extension.method) for row in extension.made)
    if fallen:
        lines.append(
            f"  {fallen:,} of the tokens were not known to {extension.method} and drawn by column"
        )
    if extension.stays:
        lines.append("  embtables inspect still warns of:")
        for finding in extension.stays:
            lines += textwrap.wrap(
                finding, WIDTH, initial_indent="    ", subsequent_indent="      "
            )
    return "\n".join(lines)


def _row(row: ExtendedRow, width: int, method: str) -> str:
    norms = ", ".join(f"{side} norm {norm:.3g}" for side, norm in row.norms.items())
    of = " + ".join(f"{weight:.2g} {token}" for token, weight in row.of)
    how = of or ("drawn by column" if _drawn(row, method) else "")
    return f"{row.row:>7} {row.token:<{width}}  {norms}" + (f"  = {how}" if how else "")


def _drawn(row: ExtendedRow, method: str) -> bool:
    """Whether a row is random, since the method could not place its token."""
    return row.made_by == "columns" != method
