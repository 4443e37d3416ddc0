"""The checks of an inspection: each reads the measures of a table and may report a finding.

The limits are far from what trained tables have, so that a clean table has no finding: a row
counts as small or large only where a gap parts it from the others, since no single number fits
all models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from embtables.architectures import Layout
from embtables.inspection.findings import SEVERITIES, Finding, Severity
from embtables.inspection.measures import (
    KEYED,
    RowMeasures,
    TableMeasures,
    alike,
    ordinary,
    padding,
)
from embtables.token_lists import TokenList

GAP = 3.0
"""The ratio to the next norm, and to the median, from which rows count as separate."""

NEAR_ZERO = 1e-3
"""The share of the median norm below which a row counts as zero."""

OFF_CENTRE = 8.0
"""The robust deviations from the median share along the common direction."""

MOST_LOSS = 20.0
"""The largest first loss above ln V that is not reported, in nats."""

WIDEST, NARROWEST = 50.0, 0.004
"""The bounds of a row's root mean square after look-up, beyond which it is reported."""

DECLARED = 10.0
"""The largest unreported ratio of a table's sigma to the configured one, or its inverse."""

DROWNED = 30.0
"""The largest unreported ratio of the rows' energy to the positions', or its inverse."""

BEST_RATIO, WORSE_RATIO = 0.3, 1.0
"""The ratios of the rows' energy to the positions' up to which trained tables do best, and from
which they do worse."""

COMMON = 0.6
"""The mean cosine of two rows from which a table counts as mostly one direction."""

LOW_RANK = 0.1
"""The least effective rank that is not reported, as a share of the possible rank."""

FEW_STEPS, MANY_STEPS = 2.0, 10_000.0
"""The bounds of the number of Adam steps in which a value moves by sigma: fewer destroy a table,
more leave it unchanged."""

LEAST_PADDING = 4
"""The fewest tokenless rows from which the norm of padding rows is known."""

PADDING_REACH = 1.1
"""The factor beyond the padding rows' norms up to which a row counts as padding."""

SHOWN = 4
"""The number of tokens that a finding's text names."""

Side = Literal["input", "output"]


@dataclass(frozen=True)
class Evidence:
    """The evidence of one table for its checks.

    Attributes:
        side: Which table it is.
        table: Its measures.
        each: Its rows' measures.
        layout: What the architecture makes of it.
        kind: ``model``, ``tensor`` or ``vectors``.
        tokens: The tokenizer's tokens; None where it is not known.
        words: The words of a file of vectors.
        pad: The padding row.
        position_energy: The mean squared distance of a position to the mean one; None without.
        gain_energy: The summed squares of the final norm's gain; None where it was not found.
        head_rows: The rows of the stored head; None where none is stored.
        head_equal: Whether the stored head equals the table; None where none is stored.
        lr: The optimizer's learning rate; None if it was not given.
        used: How often a text has each id; None without a text.
        explained: Rows that a finding names already: one row has one cause.
    """

    side: Side
    table: TableMeasures
    each: RowMeasures
    layout: Layout
    kind: str
    tokens: TokenList | None = None
    words: tuple[str, ...] = ()
    pad: int | None = None
    position_energy: float | None = None
    gain_energy: float | None = None
    head_rows: int | None = None
    head_equal: bool | None = None
    lr: float | None = None
    used: Mapping[int, int] | None = None
    explained: frozenset[int] = frozenset()

    @property
    def ordinary(self) -> npt.NDArray[np.bool_]:
        """A mask of the rows to check: finite, not zero, with a token, and not yet explained."""
        mask = ordinary(self.each, self.skip, self.stop)
        mask[[row for row in self.explained if row < len(mask)]] = False
        return mask

    @property
    def repair(self) -> str:
        """The mend that gives faulty rows new values."""
        if self.kind == "model":
            return "embtables extend MODEL --repair --to DIR gives each a row of its own."
        return "Draw them anew, around the mean row."

    @property
    def skip(self) -> frozenset[int]:
        """The padding rows, which checks leave out."""
        return padding(self.pad, self.table.rows)

    @property
    def stop(self) -> int | None:
        """The first row from which on rows have no token."""
        return self.tokens.ids if self.tokens is not None and self.tokens.tokens else None

    def token(self, row: int) -> str:
        """A row's token in words."""
        if self.words:
            return repr(self.words[row])
        if self.tokens is not None and row in self.tokens.tokens:
            return repr(self.tokens.tokens[row])
        return f"id {row}"

    def named(self, rows: Iterable[int]) -> str:
        """Some rows in words: the first few, and how many more."""
        every = list(rows)
        shown = ", ".join(self.token(row) for row in every[:SHOWN])
        more = len(every) - SHOWN
        return f"{shown} and {more:,} more" if more > 0 else shown


Check = Callable[[Evidence], Iterator[Finding]]


def run_checks(evidence: Evidence) -> list[Finding]:
    """The findings of one table, the gravest first."""
    findings: list[Finding] = []
    for check in CHECKS if evidence.side == "input" else HEAD_CHECKS:
        explained = frozenset(row for each in findings for row in each.rows)
        findings += check(replace(evidence, explained=explained))
    findings = [_with_use(finding, evidence) for finding in findings]
    return sorted(findings, key=lambda each: -SEVERITIES.index(each.severity))


def _with_use(finding: Finding, evidence: Evidence) -> Finding:
    """Adds which of its rows the text has; rows that it lacks matter less by one step."""
    if evidence.used is None or not finding.rows:
        return finding
    used = {row: evidence.used[row] for row in finding.rows if evidence.used.get(row)}
    if used or finding.name == "rows-without-token":
        return replace(finding, used=used)
    lighter: dict[Severity, Severity] = {"error": "warning", "warning": "note", "note": "note"}
    return replace(finding, used=used, severity=lighter[finding.severity])


def _plural(count: int, noun: str = "row") -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _are(count: int) -> str:
    return _plural(count) + (" is" if count == 1 else " are")


def _rows(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) for row in np.flatnonzero(mask))


def non_finite(evidence: Evidence) -> Iterator[Finding]:
    """Rows with a NaN or an infinity."""
    rows = _rows(~np.isfinite(evidence.each.norms))
    if rows:
        yield Finding(
            "non-finite",
            "error",
            evidence.side,
            f"{_plural(len(rows))} hold a NaN or an infinity: {evidence.named(rows)}",
            "A training diverged, or the file was written in a type too narrow for its values.",
            "One such token in a batch makes the loss NaN, and by the tied or decayed table all.",
            "Take an earlier checkpoint; if the rows belong to tokens that never occur: "
            + evidence.repair,
            rows,
            {"rows": len(rows)},
        )


def zero_rows(evidence: Evidence) -> Iterator[Finding]:
    """Rows of zeros that are not padding."""
    mask = evidence.each.norms == 0
    mask &= ordinary_or_zero(evidence)
    rows = _rows(mask)
    if rows:
        yield Finding(
            "zero-rows",
            "warning",
            evidence.side,
            f"{_are(len(rows))} zero: {evidence.named(rows)}",
            "They were reserved or added and never initialised or trained.",
            "A norm after the look-up divides by their length, so their gradient is as large as "
            "its epsilon allows; clipping the gradients then loses whole steps. Quantised and "
            "low-rank training never leaves zero."
            if evidence.side == "input"
            else "Their logit is 0 whatever the context: where the others are far below 0, the "
            "model writes these tokens.",
            evidence.repair,
            rows,
            {"rows": len(rows)},
        )


def ordinary_or_zero(evidence: Evidence) -> npt.NDArray[np.bool_]:
    """True in the rows that have a token and are not padding, zero or not."""
    kept = np.ones(len(evidence.each.norms), dtype=np.bool_)
    kept[[row for row in evidence.skip if row < len(kept)]] = False
    if evidence.stop is not None:
        kept[evidence.stop :] = False
    return kept


def gaps(evidence: Evidence) -> Iterator[Finding]:
    """Rows much shorter or much longer than all others."""
    mask = evidence.ordinary
    ids = np.flatnonzero(mask)
    if len(ids) < 8:
        return
    norms = evidence.each.norms[ids].astype(np.float64)
    order = np.argsort(norms)
    ranked, median = norms[order], float(np.median(norms))
    ratio = ranked[1:] / ranked[:-1]
    half = len(ids) // 2
    low = int(np.argmax(ratio[:half])) + 1
    short = low if ratio[low - 1] >= GAP and ranked[low - 1] * GAP <= median else 0
    short = max(short, int((ranked < NEAR_ZERO * median).sum()))
    if short:
        rows = tuple(sorted(int(row) for row in ids[order[:short]]))
        gap = ranked[short] / ranked[short - 1]
        yield Finding(
            "near-zero-rows",
            "warning",
            evidence.side,
            f"{_are(short)} at most {ranked[short - 1]:.2g} long where the median is "
            f"{median:.3g}, a gap of {gap:.2g} times: {evidence.named(rows)}",
            "These tokens were hardly ever trained; weight decay shrinks rows without gradients.",
            "Through a norm a row k times shorter gets a gradient k times longer. One batch with "
            "them can take the whole clipped step."
            if evidence.side == "input"
            else "Their logits are near 0 whatever the context.",
            f"Keep these tokens out of the data, or: {evidence.repair}",
            rows,
            {"rows": short, "longest": float(ranked[short - 1]), "median": median},
        )
    high = half + int(np.argmax(ratio[half:])) + 1 if len(ratio) > half else len(ids)
    long = len(ids) - high
    if long and ratio[high - 1] >= GAP and ranked[high] >= GAP * median and long <= len(ids) // 10:
        rows = tuple(sorted(int(row) for row in ids[order[high:]]))
        yield Finding(
            "large-rows",
            "warning",
            evidence.side,
            f"{_are(long)} at least {ranked[high]:.3g} long where the median is "
            f"{median:.3g}: {evidence.named(rows)}",
            "They were drawn with another scale than the trained rows, such as a normal of "
            "sigma 1, or multiplied twice.",
            "They drown positions and other tokens in a sum, and Adam's step hardly moves them."
            if evidence.side == "input"
            else "Their logits are the largest or the smallest in every context.",
            f"Scale them to the median norm: multiply by about "
            f"{median / float(np.median(ranked[high:])):.2g}.",
            rows,
            {"rows": long, "shortest": float(ranked[high]), "median": median},
        )


def copies(evidence: Evidence) -> Iterator[Finding]:
    """Rows that are nearly one direction."""
    mask = evidence.ordinary
    if evidence.table.dim < KEYED:
        return  # so few columns bring rows together by chance
    groups = alike(evidence.each, mask, evidence.table.mean_cosine)
    if groups:
        rows = tuple(sorted(int(row) for group in groups for row in group))
        largest = sorted(int(row) for row in groups[0])
        # The mean of rows that point anywhere is short: that is no second cause.
        longest = float(evidence.each.norms[list(rows)].max())
        others = float(np.median(evidence.each.norms[mask]))
        short = longest * GAP < others
        told = f", at most {longest:.2g} long where the median is {others:.3g}" if short else ""
        yield Finding(
            "rows-alike",
            # Files of vectors have words that were always written alike.
            "note" if evidence.kind == "vectors" else "warning",
            evidence.side,
            f"{_plural(len(rows))} in {_plural(len(groups), 'group')} are copies of each other "
            f"(cosine above 0.999){told}; the largest has "
            f"{len(largest):,}: {evidence.named(largest)}",
            *_OF_COPIES[evidence.kind],
            rows,
            {"rows": len(rows), "groups": len(groups), "largest": len(largest)},
            kept=() if short else tuple(sorted(int(group.min()) for group in groups)),
        )


_OF_COPIES = {
    "model": (
        "New tokens were all set to the mean row, as resize_token_embeddings does by default, or "
        "reserved tokens were never trained.",
        "The model can't tell these tokens apart but by what training adds, and where they occur "
        "together they get the same gradient: they part slowly.",
        "embtables extend MODEL --repair --to DIR keeps the first of each group, unless it is "
        "short, and gives the others rows of their own. New tokens are better added to the model "
        "from before, with --method subtokens.",
    ),
    "vectors": (
        "The words were one for the program that trained the vectors, or a row was written twice.",
        "A model that starts from them can't tell these words apart.",
        "Leave them, or leave out the words that are no words.",
    ),
}
_OF_COPIES["tensor"] = (*_OF_COPIES["model"][:2], "Draw all but the first of each group anew.")
"""The meaning, the consequence and the mend of copies, by the kind of subject."""


def off_centre(evidence: Evidence) -> Iterator[Finding]:
    """Rows without the direction that all others share."""
    mask = evidence.ordinary
    ids = np.flatnonzero(mask)
    if len(ids) < 32:
        return
    along = evidence.each.along[ids].astype(np.float64)
    median = float(np.median(along))
    spread = 1.4826 * float(np.median(np.abs(along - median)))
    if spread == 0 or median < 3 * spread:
        return  # no direction is common to nearly all rows
    far = along < median - OFF_CENTRE * spread
    rows = tuple(int(row) for row in ids[far])
    if rows and len(rows) <= len(ids) // 10:
        yield Finding(
            "off-centre-rows",
            "warning",
            evidence.side,
            f"{_plural(len(rows))} lack the direction that all others share (they have "
            f"{float(np.median(along[far])):.2g} of it, the others {median:.3g}): "
            f"{evidence.named(rows)}",
            "They were drawn around zero, beside trained rows that are not.",
            "Where a head is tied to this table, the logits of all trained tokens have a common "
            "offset that these lack. If it is far below 0, the model writes nothing but them."
            if evidence.side == "input"
            else "The logits of all other tokens have a common offset that these lack. If it is "
            "far below 0, the model writes nothing but these.",
            "Add the mean row to each of them, or add these tokens to the model from before by "
            "embtables extend with --method covariance or subtokens.",
            rows,
            {"rows": len(rows), "common": median},
        )


def special_tokens(evidence: Evidence) -> Iterator[Finding]:
    """Special and added tokens whose norm is far outside of what the others have."""
    if evidence.tokens is None:
        return
    special = evidence.tokens.special | evidence.tokens.added
    mask = evidence.ordinary
    others = mask.copy()
    others[[row for row in special if row < len(others)]] = False
    if others.sum() < 100:
        return
    low, high = np.quantile(evidence.each.norms[others], (0.01, 0.99))
    rows = tuple(
        row
        for row in sorted(special)
        if row < len(mask) and mask[row] and not low / 1.5 <= evidence.each.norms[row] <= 1.5 * high
    )
    if rows:
        yield Finding(
            "special-tokens-apart",
            "note",
            evidence.side,
            f"the norms of {_plural(len(rows), 'special or added token')} are far outside those of "
            f"98 % of the others, {low:.3g} to {high:.3g}: {evidence.named(rows)}",
            "They were trained much more, much less, or from another start.",
            "If they are used in a new way, such as chat tokens, they start from an odd place.",
            "Look whether training will use them; if it will, scale them to the median norm, "
            f"{np.median(evidence.each.norms[others]):.3g}.",
            rows,
            {"low": float(low), "high": float(high)},
        )


def ids_and_rows(evidence: Evidence) -> Iterator[Finding]:
    """Rows against the tokenizer's ids, the configuration and the padding row."""
    rows, layout = evidence.table.rows, evidence.layout
    if evidence.tokens is not None and evidence.tokens.ids > rows:
        beyond = tuple(row for row in sorted(evidence.tokens.tokens) if row >= rows)
        yield Finding(
            "ids-beyond-table",
            "error",
            evidence.side,
            f"the tokenizer has ids up to {evidence.tokens.ids - 1:,}, the table only {rows:,} "
            f"rows: {evidence.named(beyond)}",
            "Tokens were added to the tokenizer and not to the model.",
            "The first text with such a token ends in an index error, on a GPU in a device assert.",
            "embtables extend MODEL --tokenizer MODEL --method covariance --to DIR adds the rows.",
            (),
            {"ids": evidence.tokens.ids, "rows": rows},
        )
    elif evidence.tokens is not None and evidence.tokens.tokens and evidence.tokens.ids < rows:
        spare = rows - evidence.tokens.ids
        yield Finding(
            "rows-without-token",
            "note",
            evidence.side,
            f"{_plural(spare)} have no token: the tokenizer ends at id {evidence.tokens.ids - 1:,}"
            f" of {rows:,} rows",
            "The table was padded, to a multiple that is fast or for tokens to come.",
            "Tokens that are added get these ids, and resize_token_embeddings then leaves their "
            "rows as they are: they start untrained.",
            "Add tokens with embtables extend, which initialises these rows too.",
            tuple(range(evidence.tokens.ids, rows)),
            {"rows": spare},
        )
    if layout.vocabulary is not None and layout.vocabulary != rows:
        yield Finding(
            "rows-unlike-config",
            "error",
            evidence.side,
            f"the configuration says {layout.vocabulary:,} tokens, the table has {rows:,} rows",
            "The table was resized or padded without its configuration.",
            "from_pretrained refuses the weights, or draws the table anew.",
            f"Set vocab_size to {rows} in config.json; if rows with tokens were cut off, take the "
            "checkpoint from before that.",
            (),
            {"configured": layout.vocabulary, "rows": rows},
        )
    if evidence.pad is not None and not 0 <= evidence.pad < rows:
        yield Finding(
            "padding-outside",
            "error",
            evidence.side,
            f"the padding id is {evidence.pad}, the table has rows 0 to {rows - 1:,}",
            "The padding token was added to the configuration and not to the table.",
            "The first padded batch ends in an index error, on a GPU in a device assert.",
            "Add a row for it (embtables extend), or take the end token for padding.",
            (),
            {"pad": evidence.pad, "rows": rows},
        )


def heads(evidence: Evidence) -> Iterator[Finding]:
    """Whether the output table is what the configuration says."""
    layout = evidence.layout
    if evidence.head_rows is None:
        if layout.headed and layout.tied is False:
            yield Finding(
                "head-missing",
                "error",
                "output",
                "the configuration says that the output table is not tied, and none is stored",
                "It was dropped when the model was saved or merged.",
                "from_pretrained draws a random output table and only warns.",
                "Save the model again with its head, or set tie_word_embeddings to true if it was "
                "tied.",
            )
        return
    if evidence.head_rows != evidence.table.rows:
        yield Finding(
            "head-rows-differ",
            "error",
            "output",
            f"the output table has {evidence.head_rows:,} rows, the input table "
            f"{evidence.table.rows:,}",
            "One of them was resized without the other.",
            "Loading fails, or a token can be read that can't be written.",
            "Take the checkpoint from before that, and extend it: embtables extend treats both "
            "together.",
            (),
            {"output": evidence.head_rows, "input": evidence.table.rows},
        )
    elif layout.tied and evidence.head_equal is False:
        yield Finding(
            "tie-broken",
            "error",
            "output",
            "the configuration says that input and output table are one, and two that differ are "
            "stored",
            "A wrapper trained one of them alone, and saving kept both.",
            "from_pretrained ties them again and drops the stored head: its training is lost.",
            "Set tie_word_embeddings to false to keep both, or copy the table that is right.",
        )
    elif layout.tied is False and evidence.head_equal:
        yield Finding(
            "tie-unsaid",
            "note",
            "output",
            "input and output table are equal, and the configuration says that they are not tied",
            "A tied model was saved as an untied one, or both were copied.",
            "Training moves them apart; memory holds both.",
            "Set tie_word_embeddings to true if they are meant to be one.",
        )


def tokens_like_padding(evidence: Evidence) -> Iterator[Finding]:
    """Tokens that were given unused padding rows and never initialised."""
    stop, norms = evidence.stop, evidence.each.norms
    if stop is None or len(norms) - stop < LEAST_PADDING:
        return
    padding = norms[stop:]
    mask = evidence.ordinary[:stop]
    low, high = padding.min(), padding.max()
    if mask.sum() < 100 or not low > 0 or not np.isfinite(high):
        return
    # Where trained rows are as long as the padding, norms tell nothing.
    alike = mask & (norms[:stop] >= low / PADDING_REACH) & (norms[:stop] <= high * PADDING_REACH)
    rows = _rows(alike)
    if rows and len(rows) <= mask.sum() // 20 and rows[-1] == int(np.flatnonzero(mask)[-1]):
        yield Finding(
            "tokens-like-padding",
            "warning",
            evidence.side,
            f"{_are(len(rows))} as long as the {len(padding):,} that pad the table ({low:.3g} to "
            f"{high:.3g}), unlike 95 % of the others: {evidence.named(rows)}",
            "These tokens were added into rows that padded the table, which "
            "resize_token_embeddings leaves as they were drawn.",
            "They start untrained, on another scale than all other tokens.",
            "embtables extend the model from before with these tokens: it gives padding rows that "
            "get a token rows of their own.",
            rows,
            {"low": float(low), "high": float(high)},
        )


def first_loss(evidence: Evidence) -> Iterator[Finding]:
    """Logits whose spread alone makes a large loss."""
    loss = excess_loss(evidence)
    if loss is not None and loss > MOST_LOSS:
        start = math.log(evidence.table.rows)
        yield Finding(
            "first-loss",
            "warning",
            "output",
            f"a state that is unrelated to the rows costs about {start + loss:.3g} nats, "
            f"{loss:.3g} above ln V = {start:.3g}",
            "The output rows are too long for a state of unit mean square.",
            "If this head is a start and not trained, the loss begins so high that clipping and "
            "warm-up decide the run.",
            f"Draw the output table with sigma {1 / math.sqrt(evidence.table.dim):.2g} "
            "(1 / sqrt(D)), or divide the logits by sqrt(D).",
            (),
            {"excess": loss, "uniform": start},
        )


def excess_loss(evidence: Evidence) -> float | None:
    """The expected loss above ln V, in nats, of a state unrelated to the rows; None without a head.

    Logits of a normed state have the variance of a row's values times the gain's squares, and
    ln E exp(z) of a normal z is half its variance.
    """
    layout = evidence.layout
    if evidence.kind != "model" or not (layout.headed or evidence.side == "output"):
        return None
    per_value = evidence.table.energy / evidence.table.dim
    squares = evidence.gain_energy
    squares = float(evidence.table.dim) if squares is None else squares
    return 0.5 * layout.logit_factor**2 * per_value * squares


def scale(evidence: Evidence) -> Iterator[Finding]:
    """The scale of rows after look-up in the architecture."""
    layout, table = evidence.layout, evidence.table
    if evidence.kind == "model" and not layout.normed and not layout.own_scale:
        width = layout.multiplier * math.sqrt(table.mean**2 + table.sigma**2)
        if width > WIDEST:
            yield Finding(
                "wide-after-lookup",
                "warning",
                "input",
                f"after the look-up a row's root mean square is {width:.3g}",
                "The rows are multiplied twice (by sqrt(D) in the table and in the model), or come "
                "from another model.",
                "The first layers add next to nothing to such rows, and positions are drowned.",
                f"Divide the table by about {width:,.0f}.",
                (),
                {"rms": width, "multiplier": layout.multiplier},
            )
        elif 0 < width < NARROWEST:
            yield Finding(
                "narrow-after-lookup",
                "warning",
                "input",
                f"after the look-up a row's root mean square is {width:.2g}, and no norm follows",
                "The table was drawn or scaled for an architecture with a multiplier.",
                "The first norm divides by it, so the table's gradients are "
                f"{1 / width:.0f} times those of a table of unit mean square: loss spikes.",
                "Multiply the table, by sqrt(D) where the model lacks that factor, or add a norm "
                "after the look-up.",
                (),
                {"rms": width, "multiplier": layout.multiplier},
            )
    declared = layout.declared_sigma
    if declared and table.sigma > 0 and evidence.kind == "model":
        ratio = table.sigma / declared
        if not 1 / DECLARED <= ratio <= DECLARED:
            yield Finding(
                "sigma-unlike-config",
                "warning",
                "input",
                f"sigma is {table.sigma:.3g} where the configuration's initializer_range is "
                f"{declared:g}",
                "The table was drawn by another rule than the configuration's, such as a default "
                "of sigma 1, or loaded from elsewhere.",
                "Rows, positions and new tokens are on different scales.",
                f"If the table is a start, multiply it by {1 / ratio:.2g}; if it was trained so, "
                "say so in initializer_range, which new rows are drawn with.",
                (),
                {"sigma": table.sigma, "declared": declared},
            )


def position_ratio(evidence: Evidence) -> float | None:
    """The energy of the rows over that of positions; None where none are added.

    Both energies are mean squared distances to the mean: what is the same in all rows, or at all
    positions, tells nothing. For a file of vectors the ratio is that of a Transformer's encoder
    with sinusoids and sqrt(D), whose mean over many positions is 0 and whose energy is D / 2.
    """
    if evidence.kind == "vectors":
        return 2 * evidence.table.energy
    if not evidence.position_energy or evidence.layout.table == "":
        return None
    return evidence.layout.multiplier**2 * evidence.table.energy / evidence.position_energy


def positions(evidence: Evidence) -> Iterator[Finding]:
    """The balance of rows and positions that are added to each other."""
    ratio, vectors = position_ratio(evidence), evidence.kind == "vectors"
    most = WORSE_RATIO if vectors else DROWNED
    if not ratio or 1 / DROWNED <= ratio <= most:
        return
    wide = ratio > 1
    trained, frozen = (math.sqrt(wanted / ratio) for wanted in (BEST_RATIO, WORSE_RATIO))
    yield Finding(
        "positions-drowned" if wide else "meaning-drowned",
        "note" if vectors else "warning",
        "input",
        (
            "as a Transformer's table, with sinusoids and a multiplier of sqrt(D), "
            if vectors
            else ""
        )
        + f"meaning is to positions as {_ratio(ratio)} in energy (R = {ratio:.3g})",
        "The rows are " + ("wider" if wide else "much narrower") + " than the positions that are "
        "added to them.",
        (
            "Order is told too faintly: trained tables score worse from R = 1 on, the more so the "
            "wider"
            if wide
            else "The sum hardly tells words apart"
        )
        + ". A norm after the sum keeps that ratio.",
        f"Scale the table by {trained:.2g}, to R = {BEST_RATIO:g} and sigma "
        f"{trained * evidence.table.sigma:.2g}, where it is trained; where it is frozen, by "
        f"{frozen:.2g}, to R near 1. Models that add no positions need neither.",
        (),
        {"ratio": ratio},
    )


def _ratio(value: float) -> str:
    return f"{value:.3g} to 1" if value >= 1 else f"1 to {1 / value:.3g}"


def shape(evidence: Evidence) -> Iterator[Finding]:
    """Tables that are mostly one direction, or a few."""
    table = evidence.table
    if table.mean_cosine > COMMON and table.measured > 1:
        yield Finding(
            "common-direction",
            "warning",
            evidence.side,
            f"the mean cosine of two rows is {table.mean_cosine:.2g}",
            "All rows share one direction that tells no token from another.",
            "Cosines between tokens say little; a norm spends its scale on what is common.",
            "Subtract the mean row where the model allows it (an untied table before training, "
            "vectors before use).",
            (),
            {"mean_cosine": table.mean_cosine},
        )
    possible = min(table.sample - 1, table.dim)
    if possible >= 16 and table.effective_rank < LOW_RANK * possible:
        yield Finding(
            "low-rank",
            "warning",
            evidence.side,
            f"the effective rank is {table.effective_rank:.3g} of {possible} possible; the first "
            f"component has {100 * table.top_shares[0]:.0f} % of the variance{table.of_sample}",
            "The rows vary in a few directions only: the table collapsed, or was made by a product "
            "of thin matrices.",
            "Most of the width is unused.",
            "Remove the first components (all-but-the-top), or draw the table anew.",
            (),
            {"effective_rank": table.effective_rank, "possible": possible},
        )


def steps(evidence: Evidence) -> Iterator[Finding]:
    """Adam's step, which is about the learning rate, against the table's sigma."""
    if evidence.lr is None or evidence.table.sigma <= 0:
        return
    needed = evidence.table.sigma / evidence.lr
    figures = {"steps": needed, "lr": evidence.lr}
    if needed > MANY_STEPS:
        yield Finding(
            "slow-under-adam",
            "warning",
            evidence.side,
            f"at a learning rate of {evidence.lr:g} a value takes {needed:,.0f} steps of Adam to "
            f"move by the table's sigma, {evidence.table.sigma:.3g}",
            "Adam's step is about the learning rate, however wide the table is.",
            "The table stays about as it is, and so does whatever is wrong with it.",
            "Scale the table down, or give it a learning rate of its own.",
            (),
            figures,
        )
    elif needed < FEW_STEPS:
        yield Finding(
            "fast-under-adam",
            "warning",
            evidence.side,
            f"at a learning rate of {evidence.lr:g} one step of Adam moves a value by "
            f"{1 / needed:.2g} of the table's sigma, {evidence.table.sigma:.3g}",
            "Adam's step is about the learning rate, however narrow the table is.",
            "A few steps erase what the rows held.",
            "Take a smaller rate for the table, or warm it up.",
            (),
            figures,
        )


def words_twice(evidence: Evidence) -> Iterator[Finding]:
    """Words that a file of vectors has more than once."""
    again = len(evidence.words) - len(set(evidence.words))
    if again:
        seen: set[str] = set()
        rows = []
        for row, word in enumerate(evidence.words):
            if word in seen:
                rows.append(row)
            seen.add(word)
        yield Finding(
            "words-twice",
            "note",
            evidence.side,
            f"{_plural(again)} repeat a word that the file had before: {evidence.named(rows)}",
            "Files were put together, or words were lower-cased after training.",
            "The first row of a word counts here; other programs take the last.",
            "Keep one row a word.",
            tuple(rows),
            {"rows": again},
        )


CHECKS: tuple[Check, ...] = (
    non_finite,
    ids_and_rows,
    heads,
    zero_rows,
    copies,
    off_centre,
    gaps,
    tokens_like_padding,
    special_tokens,
    first_loss,
    scale,
    positions,
    shape,
    steps,
    words_twice,
)
"""The checks of input tables; those that explain a row best come first.

``first_loss`` is about the head, which may be this table.
"""

HEAD_CHECKS: tuple[Check, ...] = (
    non_finite,
    zero_rows,
    copies,
    off_centre,
    gaps,
    tokens_like_padding,
    special_tokens,
    first_loss,
    shape,
    steps,
)
"""The checks of an untied output table."""
