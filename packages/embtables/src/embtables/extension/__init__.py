"""Extension of models with rows for new tokens, or for a new tokenizer.

``extend`` makes the rows by a method of ``METHODS`` and rewrites the tensors that have a row for
each token: the input table and its copies, an output table of its own, biases. A tied model stays
tied. The new directory appears whole or not at all, with a report of what was done to which row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import StoredTensor, is_float
from embinit.randomness import stream
from embtables.architectures import Layout, layout, text_config
from embtables.checkpoints import Checkpoint, is_quantised, local_directory, open_checkpoint
from embtables.extension.mathematics import rows as combined
from embtables.extension.methods import METHODS as METHODS
from embtables.extension.methods import AlignedVectors, Method, MethodInput, NewRows
from embtables.extension.tokens import (
    TOKENIZER_FILES,
    Side,
    TokenPlan,
    added_tokens,
    aligned,
    load_tokenizer,
    read_words,
    replaced_tokenizer,
    same_tokens,
    token_vectors,
)
from embtables.extension.writing import (
    by_rows,
    copy_others,
    weight_bytes,
    whole_directory,
    write_configs,
    write_weights,
)
from embtables.inspection import inspect
from embtables.new_tensors import NewTensor, blocks
from embtables.token_lists import SPECIAL

__all__ = ["METHODS", "REPORT", "ExtendedRow", "Extension", "Helpers", "Method", "extend"]

REPORT = "extension.json"
MOST_SOURCES = 5


@dataclass(frozen=True)
class ExtendedRow:
    """The report on an extended row.

    Attributes:
        row: Its id.
        token: Its token.
        made_by: The method, or ``columns`` where the method knew nothing of the token.
        of: The old tokens that it is made of and their weights, the largest first; at most 5.
        norms: Its norm in each table that has rows of its own.
    """

    row: int
    token: str
    made_by: str
    of: tuple[tuple[str, float], ...]
    norms: Mapping[Side, float]


@dataclass(frozen=True)
class Extension:
    """The report on an extension.

    Attributes:
        model: The old model.
        to: The new directory.
        method: The method's name.
        old_rows: V.
        rows: The new number of rows.
        kept: The rows that keep an old one.
        spare: New rows without a token, which pad the table.
        tied: Whether the tables are one.
        tensors: The names of the tensors that were rewritten.
        median_norms: The median norm of the old rows, by table.
        made: What was done to each new row.
        left_out: Files of the old model that would hold the old table and were not copied.
        answers: Whether the model has a head, and so answers that the new rows take part in.
        kl_bound: What the mean row bounds: the divergence of the new from the old answers, in
            nats, whatever the state; None for other methods, and without a head.
        hull: Whether every new row lies in the hull of the old ones, so that no greedy answer
            changes.
        stays: After a repair: what an inspection of the new model still warns of.
    """

    model: str
    to: str
    method: str
    old_rows: int
    rows: int
    kept: int
    spare: int
    tied: bool
    tensors: tuple[str, ...]
    median_norms: Mapping[Side, float]
    made: tuple[ExtendedRow, ...]
    left_out: tuple[str, ...]
    answers: bool
    kl_bound: float | None
    hull: bool
    stays: tuple[str, ...] = ()

    def as_json(self) -> str:
        """The report that is written into the new directory."""
        document: dict[str, Any] = {
            name: value for name, value in vars(self).items() if name not in ("made", "to")
        }
        document["made"] = [
            {
                "id": row.row,
                "token": row.token,
                "made_by": row.made_by,
                "of": [{"token": token, "weight": weight} for token, weight in row.of],
                "norms": dict(row.norms),
            }
            for row in self.made
        ]
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Helpers:
    """Optional inputs of methods: word vectors and a donor model.

    Attributes:
        vectors: A file of word vectors.
        new_vectors: Another one, in the new tokens' language; None for the same.
        dictionary: Pairs of words that rotate the second space onto the first.
        donor: The directory of another model, or its id on the Hub.
    """

    vectors: Path | None = None
    new_vectors: Path | None = None
    dictionary: Path | None = None
    donor: Path | None = None


def extend(
    model: str | Path,
    to: str | Path,
    *,
    tokens: str | Path | None = None,
    tokenizer: str | Path | None = None,
    repair: bool = False,
    method: str | None = None,
    helpers: Helpers | None = None,
    special: bool = False,
    multiple: int = 1,
    seed: int = 0,
) -> Extension:
    """Writes a model with new rows.

    Args:
        model: The model's directory, or its id on the Hub.
        to: The new directory, which may not exist yet.
        tokens: A file of tokens to add, one a line.
        tokenizer: The directory of a tokenizer to take the place of the model's, or the id of
            one on the Hub.
        repair: Makes rows anew that are zero, nearly zero, not finite, or copies of an earlier
            row, in each table, and adds none.
        method: The name of a method in ``METHODS``; None for ``subtokens``, and for repair for
            ``repair`` or, where the tables are one, ``covariance``. Output rows that ``repair``
            has no direction for are made by ``covariance``.
        helpers: Word vectors or another model, for methods that need them.
        special: Whether added tokens are special ones.
        multiple: What the number of rows is to be a multiple of.
        seed: For methods that draw.

    Raises:
        InputError: The model, the tokens or the method can't be used. Nothing is written then.
    """
    if sum((tokens is not None, tokenizer is not None, repair)) != 1:
        raise InputError("name one of --tokens, --tokenizer and --repair")
    if multiple < 1:
        raise InputError(f"rows in multiples of {multiple}; give 1 or more")
    directory = local_directory(model)
    checkpoint = replace(open_checkpoint(directory), location=str(model))
    if checkpoint.directory is None:
        raise InputError(f"{model} is no directory; name a model's directory or its id on the Hub")
    tables = _Tables.of(checkpoint)
    default = "subtokens" if not repair else "covariance" if tables.tied else "repair"
    chosen, given = METHODS[method or default], helpers or Helpers()
    _check_needs(chosen, given, repair, tables.tied)
    old = tables.size
    if tokens is not None:
        plan = added_tokens(directory, Path(tokens), old, special, multiple)
    elif tokenizer is not None:
        plan = replaced_tokenizer(directory, local_directory(tokenizer), old, multiple)
    else:
        plan = same_tokens(
            directory, old, _broken(directory), bool(chosen.needs & {"vectors", "donor"})
        )
    if repair and not plan.tokens:
        raise InputError(f"{model} has no row to repair; there is nothing to write")
    return _Writer(checkpoint, tables, plan, chosen, given, seed).write(Path(to))


def _check_needs(method: Method, helpers: Helpers, repair: bool, tied: bool) -> None:
    if "head" in method.needs and (tied or not repair):
        raise InputError(
            f"method {method.name!r} mends rows (--repair) from an output table of the model's "
            "own; take covariance, or subtokens for new tokens"
        )
    if "pieces" in method.needs and repair:
        raise InputError(
            f"method {method.name!r} makes a token of its pieces, and a token that exists has "
            "none; take covariance or mean"
        )
    if "vectors" in method.needs and helpers.vectors is None:
        raise InputError(f"method {method.name!r} compares word vectors; name them with --vectors")
    if "donor" in method.needs and helpers.donor is None:
        raise InputError(
            f"method {method.name!r} takes rows from another model; name it with --donor"
        )


def _broken(directory: Path) -> dict[Side, tuple[int, ...]]:
    """The broken rows of each table, which repair makes anew."""
    broken: dict[Side, set[int]] = {"input": set(), "output": set()}
    for finding in inspect(directory).findings:
        if finding.name in ("zero-rows", "near-zero-rows", "non-finite", "rows-alike"):
            broken[finding.side] |= set(finding.rows) - set(finding.kept)
    return {side: tuple(sorted(rows)) for side, rows in broken.items()}


@dataclass(frozen=True)
class _Tables:
    """The tensors of a checkpoint that have a row or a value for each token."""

    layout: Layout
    table: StoredTensor
    head: StoredTensor | None
    tied: bool

    @property
    def size(self) -> int:
        return self.table.shape[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of the tensors."""
        found = self.layout
        heads = (found.head,) if found.head else ()
        return (found.table, *found.copies, *heads, *found.biases)

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> _Tables:
        """The tensors of a checkpoint; those that can't be extended are refused."""
        where, config = checkpoint.location, checkpoint.config
        if is_quantised(config):
            raise InputError(
                f"{where} is quantised; extend the checkpoint before it was quantised, then "
                "quantise that"
            )
        if not config:
            raise InputError(f"{where} has no config.json; name a model's directory")
        found = layout(where, checkpoint.tensors, config)
        table = checkpoint.tensors[found.table]
        head = checkpoint.tensors[found.head] if found.head else None
        for each in (table, head):
            if each is not None and not is_float(each):
                raise InputError(
                    f"{where}: {each.name!r} is {each.dtype}, so it is quantised; extend the "
                    "checkpoint before it was quantised"
                )
        if found.vocabulary is not None and found.vocabulary != table.shape[0]:
            raise InputError(
                f"{where}: the configuration says {found.vocabulary} tokens and the table has "
                f"{table.shape[0]} rows; mend vocab_size in config.json first"
            )
        if head is not None and head.shape[0] != table.shape[0]:
            raise InputError(
                f"{where}: the output table has {head.shape[0]} rows and the input table "
                f"{table.shape[0]}; make them alike first"
            )
        tied = head is None or _same(table, head)
        made = cls(found, table, head, tied)
        made._check_others(checkpoint)
        return made

    def _check_others(self, checkpoint: Checkpoint) -> None:
        """Refuses a model with a further tensor of as many rows, unless by another setting."""
        settings = text_config(checkpoint.config)
        others = {v for k, v in settings.items() if k != "vocab_size" and isinstance(v, int)}
        others |= {self.table.shape[1], 4 * self.table.shape[1]}
        if self.size in others:
            return  # the size says nothing then
        odd = [
            name
            for name, tensor in checkpoint.tensors.items()
            if self.size in tensor.shape[:1] and name not in self.names
        ]
        if odd:
            raise InputError(
                f"{checkpoint.location}: {odd[0]!r} has {self.size} rows too, and this "
                "architecture is not known here, so it can't be told what they are; extend it "
                "with its own code"
            )


def _same(left: StoredTensor, right: StoredTensor) -> bool:
    both = zip(blocks(left), blocks(right), strict=True)
    return left.shape == right.shape and all(torch.equal(a, b) for (_, a), (_, b) in both)


class _Writer:
    """A writer of the extended model's directory."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        tables: _Tables,
        plan: TokenPlan,
        method: Method,
        helpers: Helpers,
        seed: int,
    ) -> None:
        self._checkpoint, self._tables, self._plan = checkpoint, tables, plan
        self._method, self._helpers, self._seed = method, helpers, seed
        self._ids: Mapping[Side, Sequence[int]] = plan.repaired or dict.fromkeys(
            ("input", "output"), tuple(plan.tokens)
        )
        # Rows that no old token has, or that are broken, are no material for new ones.
        used = (set(plan.names) or set(range(tables.size))) - set(plan.tokens)
        table = _read(tables.table)
        length = table.double().norm(dim=1)
        sound = length.isfinite() & (length > 0)
        mask = torch.zeros(tables.size, dtype=torch.bool)
        mask[[row for row in used if row < tables.size]] = True
        self._old = (mask & sound).nonzero()[:, 0]
        if len(self._old) < 2:
            raise InputError(
                f"{checkpoint.location} has fewer than two sound rows with a token; look at it "
                "with embtables inspect"
            )
        self._position = {int(row): number for number, row in enumerate(self._old)}
        self._table = table

    def write(self, to: Path) -> Extension:
        """Writes the new directory and returns the report."""
        checkpoint, plan, tables = self._checkpoint, self._plan, self._tables
        assert checkpoint.directory is not None
        made = self._made()
        rewritten = self._rewritten(made)
        growth = len(plan.sources) / tables.size
        size = int(weight_bytes(checkpoint) * max(1.0, growth)) + 2**22
        left: list[str] = []
        with whole_directory(to, size) as new:
            written = () if plan.tokenizer is None else TOKENIZER_FILES
            left = copy_others(checkpoint.directory, new, written)
            write_weights(checkpoint, new, rewritten)
            write_configs(
                checkpoint.directory, new, tables.size, len(plan.sources), self._special_ids()
            )
            if plan.tokenizer is not None:
                plan.tokenizer.save_pretrained(new)
            extension = self._extension(to, made, rewritten, left)
            if plan.repaired is not None:
                extension = replace(extension, stays=_warnings(new))
            (new / REPORT).write_text(extension.as_json(), encoding="utf-8")
        return extension

    def _made(self) -> dict[Side, NewRows]:
        """The new rows of each table that has rows of its own."""
        sides: dict[Side, Tensor] = {"input": self._table}
        if not self._tables.tied and self._tables.head is not None:
            sides["output"] = _read(self._tables.head)
        head = None
        if self._plan.repaired and "output" in sides:
            sound = sides["output"].nan_to_num(0.0, 0.0, 0.0)
            sound[list(self._ids["output"])] = 0.0  # these have no direction to be taken
            head = sound[list(self._ids["input"])]
        vectors = self._vectors() if "vectors" in self._method.needs else None
        donor = self._donor() if "donor" in self._method.needs else None
        made: dict[Side, NewRows] = {}
        for side, table in sides.items():
            if not self._ids[side]:
                continue
            made[side] = self._method_of(side)(
                MethodInput(
                    side,
                    table[self._old].nan_to_num(0.0, 0.0, 0.0),
                    len(self._ids[side]),
                    tuple(
                        tuple(self._position[row] for row in each if row in self._position)
                        for each in self._plan.pieces
                    ),
                    stream(self._seed, f"extension/{side}"),
                    self._tables.layout.declared_sigma or 0.02,
                    vectors and self._of_side(vectors, side),
                    donor and self._of_side(donor, side),
                    head,
                )
            )
        return made

    def _method_of(self, side: Side) -> Method:
        """The method of a side; repair needs output rows and is replaced on the output side."""
        mends = side == "output" and "head" in self._method.needs
        return METHODS["covariance"] if mends else self._method

    def _of_side(self, space: AlignedVectors, side: Side) -> AlignedVectors:
        """The vectors of the rows that are to be made of a side's table."""
        position = {row: number for number, row in enumerate(self._plan.tokens)}
        return replace(space, new=space.new[[position[row] for row in self._ids[side]]])

    def _vectors(self) -> AlignedVectors:
        """The word vectors of old and new tokens, in one space."""
        given = self._helpers
        assert given.vectors is not None
        words, values = read_words(given.vectors)
        other_words, other = words, values
        if given.new_vectors is not None:
            other_words, other = read_words(given.new_vectors)
            other = aligned(words, values, other_words, other, given.dictionary)
        old = token_vectors(words, values, self._plan.old_tokenizer, self._tables.size)
        new = token_vectors(other_words, other, self._plan.tokenizer, len(self._plan.sources))
        return AlignedVectors(old[self._old], new[list(self._plan.tokens)], self._shared())

    def _shared(self) -> Tensor:
        """A mask of the old rows that the extended table keeps."""
        kept = torch.zeros(self._tables.size, dtype=torch.bool)
        kept[[of for of in self._plan.sources if of >= 0]] = True
        return kept[self._old]

    def _donor(self) -> AlignedVectors:
        """Another model's rows of the old tokens and of the new ones."""
        assert self._helpers.donor is not None
        where = local_directory(self._helpers.donor)
        checkpoint = open_checkpoint(where)
        rows = _read(_Tables.of(checkpoint).table).nan_to_num(0.0, 0.0, 0.0)
        tokenizer = load_tokenizer(where)
        known = tokenizer.get_vocab()
        names = self._plan.names
        theirs = torch.tensor([known.get(names[int(row)], -1) for row in self._old])
        shared = (theirs >= 0) & (theirs < len(rows))
        old = torch.zeros(len(self._old), rows.shape[1])
        old[shared] = rows[theirs[shared]]
        new = torch.zeros(len(self._plan.tokens), rows.shape[1])
        for number, token in enumerate(self._plan.tokens.values()):
            own = known.get(token)
            ids = [own] if own is not None else tokenizer.encode(token, add_special_tokens=False)
            ids = [row for row in ids if row < len(rows) and row != tokenizer.unk_token_id]
            if ids:
                new[number] = rows[ids].mean(dim=0)
        return AlignedVectors(old, new, shared & (old.norm(dim=1) > 0))

    def _rewritten(self, made: Mapping[Side, NewRows]) -> dict[str, Callable[[], NewTensor]]:
        """The changed tensors by name, each as a function that makes it."""
        found, tensors = self._tables.layout, self._checkpoint.tensors
        sides: dict[str, Side] = dict.fromkeys((found.table, *found.copies), "input")
        if found.head is not None:
            sides[found.head] = "input" if self._tables.tied else "output"
        rewritten: dict[str, Callable[[], NewTensor]] = {}
        for name, side in sides.items():
            if side in made:
                values = self._rows(side, made[side], name)
                rewritten[name] = partial(by_rows, tensors[name], self._sources(side), values)
        for name in () if self._plan.repaired else found.biases:
            values = self._biases(made.get("output", made["input"]), tensors[name])
            rewritten[name] = partial(by_rows, tensors[name], self._plan.sources, values)
        return rewritten

    def _sources(self, side: Side) -> Sequence[int]:
        """The old row that each row of the extended table keeps."""
        if self._plan.repaired is None:
            return self._plan.sources
        made = set(self._ids[side])
        return [-1 if row in made else row for row in range(self._tables.size)]

    def _rows(self, side: Side, made: NewRows, name: str) -> dict[int, Tensor]:
        """The new rows by id; rows without a token get the mean row."""
        values = {row: made.values[number] for number, row in enumerate(self._ids[side])}
        if not self._plan.spare:
            return values
        table = self._table if side == "input" else _read(self._checkpoint.tensors[name])
        mean = table[self._old].nan_to_num(0.0, 0.0, 0.0).mean(dim=0)
        return values | dict.fromkeys(self._plan.spare, mean)

    def _biases(self, made: NewRows, tensor: StoredTensor) -> dict[int, Tensor]:
        """The new biases: combined as the rows are, or the mean."""
        old = tensor.rows(0, tensor.shape[0]).reshape(-1).float()[self._old]
        mean = old.mean()
        ids = self._ids["output"]
        values = [mean] * len(ids)
        if made.weights is not None and len(made.weights) == len(ids):
            mixed = combined(old[:, None], made.weights)[:, 0]
            sums = combined(torch.ones_like(old)[:, None], made.weights)[:, 0]
            known = (sums - 1).abs() < 1e-3  # else the weights are no mixture
            if made.known is not None:
                known &= made.known
            values = [value if known[n] else mean for n, value in enumerate(mixed)]
        by_row = dict(zip(ids, values, strict=True))
        return by_row | dict.fromkeys(self._plan.spare, mean)

    def _special_ids(self) -> dict[str, int | None] | None:
        """The special tokens' new ids by their settings, where another tokenizer is put in."""
        if not self._plan.replaced:
            return None
        tokenizer = self._plan.tokenizer
        ids = {f"{role}_id": getattr(tokenizer, f"{role}_id", None) for role in SPECIAL}
        moved = {of: row for row, of in reversed([*enumerate(self._plan.sources)])}
        for config in (self._checkpoint.config, text_config(self._checkpoint.config)):
            for key, value in config.items():
                if key.endswith("_token_id") and isinstance(value, int) and ids.get(key) is None:
                    ids[key] = moved.get(value)
        return ids

    def _extension(
        self, to: Path, made: Mapping[Side, NewRows], rewritten: Iterable[str], left: list[str]
    ) -> Extension:
        plan = self._plan
        at = {side: {row: n for n, row in enumerate(self._ids[side])} for side in made}
        rows = []
        for row, token in plan.tokens.items():
            norms: dict[Side, float] = {}
            name, of = "columns", tuple[tuple[str, float], ...]()
            for side in reversed(list(made)):  # what the input row is made of is told
                if row in at[side]:
                    each, number = made[side], at[side][row]
                    norms[side] = float(each.values[number].norm())
                    known = each.known is None or bool(each.known[number])
                    name = self._method_of(side).name if known else "columns"
                    of = self._sources_of(each, number) if known else ()
            rows.append(ExtendedRow(row, token, name, of, dict(sorted(norms.items()))))
        medians: dict[Side, float] = {"input": _median_norm(self._table[self._old])}
        if "output" in made and self._tables.head is not None:
            medians["output"] = _median_norm(_read(self._tables.head)[self._old])
        all_known = all(each.known is None or bool(each.known.all()) for each in made.values())
        added = sum(of < 0 for of in plan.sources)
        # Rows that are overwritten took part in the old answers, and no bound holds.
        only_grown = not plan.replaced and len(plan.sources) - self._tables.size == added
        answers = self._tables.layout.headed or self._tables.head is not None
        bounded = only_grown and answers and self._method.name == "mean"
        return Extension(
            model=self._checkpoint.location,
            to=str(to),
            method=self._method.name,
            old_rows=self._tables.size,
            rows=len(plan.sources),
            kept=sum(of >= 0 for of in plan.sources),
            spare=len(plan.spare),
            tied=self._tables.tied,
            tensors=tuple(rewritten),
            median_norms=medians,
            made=tuple(rows),
            left_out=tuple(left),
            answers=answers,
            kl_bound=math.log1p(added / len(self._old)) if bounded else None,
            hull=self._method.hull and all_known and only_grown,
        )

    def _sources_of(self, made: NewRows, number: int) -> tuple[tuple[str, float], ...]:
        """The old tokens that weigh most in a new row."""
        if made.weights is None or not made.weights.is_sparse:
            return ()
        weights = made.weights.coalesce()
        own = (weights.indices()[0] == number).nonzero()[:, 0]
        values = weights.values()[own]
        most = np.argsort(-values.abs().numpy(), kind="stable")[:MOST_SOURCES]
        ids = [int(self._old[int(weights.indices()[1, own[at]])]) for at in most]
        return tuple(
            (self._plan.names.get(row, f"id {row}"), round(float(values[at]), 6))
            for row, at in zip(ids, most, strict=True)
        )


def _warnings(directory: Path) -> tuple[str, ...]:
    """The warnings of an inspection of a model, in words."""
    found = inspect(directory).at_least("warning")
    return tuple(f"{each.name} ({each.side}): {each.what}" for each in found)


def _read(tensor: StoredTensor) -> Tensor:
    """A whole table in float32."""
    return torch.cat([block.float() for _, block in blocks(tensor)])


def _median_norm(table: Tensor) -> float:
    return float(table.norm(dim=1).median())
