"""Scores of a stack: curves over epochs, best epochs, and BLEU of translations.

Section 4 of the paper: the best epoch has the lowest validation loss for translation, and the
highest validation accuracy for classification. MNLI's mismatched accuracy is likewise the highest
over the epochs, whichever epoch that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from embinit.lab.data.preparation import Split
from embinit.lab.data.vocabulary import BOS, EOS, PAD, Vocabulary
from embinit.lab.models.transformer import StackedTransformer

Outputs = list[list[str]]
"""Each run's translations."""


@dataclass
class EpochCurves:
    """Curves over epochs: one (R,) tensor an epoch, on the CPU.

    If the first epochs were left unmeasured, the last one's measures count, and none is chosen.
    """

    train_loss: list[Tensor] = field(default_factory=list)
    validation_loss: list[Tensor] = field(default_factory=list)
    validation_accuracy: list[Tensor] = field(default_factory=list)
    test_accuracy: list[Tensor] = field(default_factory=list)
    validation_bleu: list[Tensor] = field(default_factory=list)

    @property
    def unmeasured(self) -> int:
        """The number of epochs before the first measured one."""
        return len(self.train_loss) - len(self.validation_loss)

    def score(self) -> Float[Tensor, "measured R"]:
        """The score that selects the best measured epoch; higher is better."""
        if self.validation_accuracy:
            return torch.stack(self.validation_accuracy)
        return -torch.stack(self.validation_loss)

    def finite_epochs(self) -> Int[Tensor, " R"]:
        """Each run's number of epochs before its loss was no longer finite."""
        finite = torch.stack(self.train_loss).isfinite()
        finite[self.unmeasured :] &= torch.stack(self.validation_loss).isfinite()
        return finite.long().cumprod(dim=0).sum(dim=0)

    def newest_is_best(self) -> Bool[Tensor, " R"]:
        """Which runs' newest epoch is their best."""
        score = self.score()
        newest = score[-1]
        better = torch.ones(len(newest), dtype=torch.bool)
        if len(score) > 1:
            better = newest > score[:-1].nan_to_num(-torch.inf).max(dim=0).values
        return better & (self.finite_epochs() == len(self.train_loss))

    def measures(self) -> list[dict[str, float]]:
        """Each run's measures at its best epoch; none of a run that broke before the first."""
        measures: list[dict[str, float]] = []
        score = self.score()
        chooses = not self.unmeasured
        for run, finished in enumerate((self.finite_epochs() - self.unmeasured).tolist()):
            if finished <= 0:
                measures.append({})
                continue
            best = int(score[:finished, run].argmax())
            values = {"validation_loss": float(self.validation_loss[best][run])}
            if chooses:
                values["best_epoch"] = float(best + 1)
            if self.validation_accuracy:
                values["accuracy"] = float(self.validation_accuracy[best][run])
            if self.test_accuracy:
                test = torch.stack(self.test_accuracy)[:finished, run]
                values["test_accuracy"] = float(test.max())
                if chooses:
                    values["best_test_epoch"] = float(test.argmax() + 1)
                values["test_accuracy_then"] = float(test[best])
            measures.append(values)
        return measures

    def of(self, run: int, epochs: int) -> dict[str, list[float]]:
        """One run's curves over its first ``epochs`` epochs, of what all epochs have."""
        return {
            name: [float(values[run]) for values in series[:epochs]]
            for name, series in vars(self).items()
            if series and len(series) == len(self.train_loss)
        }


@torch.inference_mode()
def translations(
    model: StackedTransformer,
    split: Split,
    batches: Sequence[Int[Tensor, " _"]],
    vocabulary: Vocabulary,
    longest: int,
) -> Outputs:
    """Each run's current translations of the split, of at most ``longest`` tokens."""
    model.eval()
    outputs: Outputs = [[""] * len(split) for _ in range(model.runs)]
    for chosen in batches:
        inputs = split.inputs[chosen, : int(split.lengths[chosen].max())]
        decoded = greedy(model, inputs, longest).tolist()
        for run, sentences in enumerate(decoded):
            for example, ids in zip(chosen.tolist(), sentences, strict=True):
                outputs[run][example] = " ".join(vocabulary.decode(ids))
    return outputs


@torch.inference_mode()
def greedy(
    model: StackedTransformer, source: Int[Tensor, "B T"], longest: int
) -> Int[Tensor, "R B L"]:
    """Greedy translations of at most ``longest`` tokens; after a sentence's EOS comes padding."""
    memory = model.encode_memory(source.unsqueeze(0))
    runs, batch = model.runs, len(source)
    words = torch.full((runs, batch), BOS, device=source.device)
    ended = torch.zeros_like(words, dtype=torch.bool)
    decoded = []
    for position in range(longest):
        logits = model.step(words, position, memory)
        words = logits.argmax(dim=-1).masked_fill(ended, PAD)
        decoded.append(words)
        ended |= words == EOS
        if bool(ended.all()):
            break
    return torch.stack(decoded, dim=-1)


def bleu_of(outputs: Outputs, references: Sequence[str]) -> tuple[list[float], str]:
    """Each run's BLEU over the task's own tokens, and the metric's signature."""
    from sacrebleu.metrics.bleu import BLEU

    # Both sides are the same tokenizer's words already, so sacreBLEU must not cut them again.
    metric = BLEU(tokenize="none", force=True)
    references = list(references)
    scores = [float(metric.corpus_score(of_run, [references]).score) for of_run in outputs]
    return scores, str(metric.get_signature())
