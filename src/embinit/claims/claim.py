"""Claims: directional statements with a citation, stated as comparisons over arms.

A claim is a test function that takes an ``experiment`` and asserts how its arms compare::

    @claim(id="…", says="…", where="Table 1", family=FINDING_1, experiments=table1("glove"))
    def test_raw_glove_fares_worse_than_xavier(experiment):
        assert experiment["pretrained"] < experiment["xavier"]

It is read twice. At collection it runs with nothing trained, only to learn which comparisons it
makes and so which runs it wants; when those are in the store it runs again, and the comparisons
decide. A claim never trains, and states its comparisons positively: no ``not``, no ``or``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from embinit.claims.budgets import Budget
from embinit.claims.comparisons import Comparison, Quantity, Reader, Term, read_by
from embinit.claims.experiments import Experiment
from embinit.claims.paired_tests import Verdict
from embinit.claims.statements import Statement
from embinit.errors import InputError
from embinit.specs import TrainingSpec


@dataclass(frozen=True)
class Family:
    """Claims that share one alpha; ``size`` is fixed beforehand, by tier.

    A claim's share is alpha / size whether one of them is run or all, so a claim run alone gets
    the verdict that it gets in the whole suite. A test compares the sizes with what is collected.
    ``says`` is what the claims come to, for people.
    """

    name: str
    size: Mapping[str, int]
    says: str = ""
    alpha: float = 0.05

    def share(self, tier: str) -> float:
        """This family's alpha for one claim on ``tier``."""
        try:
            return self.alpha / self.size[tier]
        except KeyError:
            raise InputError(
                f"family {self.name!r} has no size for tier {tier!r}; register one beside "
                f"{', '.join(self.size)}"
            ) from None


@dataclass(frozen=True)
class Claim(Statement):
    """A directional statement, and the experiments in which it is tested.

    ``experiments`` gives those of a tier. ``equal`` names what the arms have as many parameters
    at; where they don't, the claim is not run. ``expects`` is set for controls alone: the verdict
    that shows the machinery right, NOT RUN for arms whose unequal budget must be caught.
    """

    family: Family
    experiments: Callable[[str], Sequence[Experiment]]
    expects: Verdict | None = None
    equal: Budget | None = None


claim = Claim
"""The decorator's name, as a claim reads."""


class ArmsOfExperiment:
    """What a claim's ``experiment`` argument is: its arms by the name of their init.

    ``changes`` says how its setting differs from the registered one, in the arms' labels.
    """

    def __init__(
        self,
        experiment: Experiment,
        others: Mapping[str, Experiment] | None = None,
        every: Sequence[Experiment] = (),
        changes: str = "",
    ) -> None:
        self._experiment = experiment
        self._others = others or {}
        self._every = every
        self._changes = changes

    def everywhere(self) -> list[ArmsOfExperiment]:
        """All experiments of the tier, for a claim over the whole of Table 1."""
        return [ArmsOfExperiment(one) for one in self._every]

    def __getitem__(self, init: str) -> Quantity:
        experiment = self._experiment
        return Quantity(
            terms=(Term(1, experiment, init, experiment.metric),),
            label=f"{experiment.label(init)} {self._changes}".rstrip(),
            measure=experiment.metric,
            unit=experiment.unit,
            margin=experiment.margin,
            seeds=experiment.seeds,
        )

    def changed(self, said: str, change: Callable[[Experiment], Experiment]) -> ArmsOfExperiment:
        """The same arms in a setting that ``change`` makes of theirs, called ``said``."""
        return self._changed(change(self._experiment), said)

    def _changed(self, experiment: Experiment, said: str) -> ArmsOfExperiment:
        changes = f"{self._changes} {said}".strip()
        return ArmsOfExperiment(experiment, self._others, self._every, changes)

    @property
    def setting(self) -> Experiment:
        """The experiment itself."""
        return self._experiment

    @property
    def epochs(self) -> int:
        """How many epochs its runs are trained."""
        assert isinstance(self._experiment.training, TrainingSpec)
        return self._experiment.training.epochs

    def without_positions(self) -> ArmsOfExperiment:
        """The same arms with nothing added to the embeddings."""
        return self._changed(self._experiment.without_positions(), "without positions")

    def with_shuffled_positions(self) -> ArmsOfExperiment:
        """The same arms with the positions' encodings in another order."""
        return self._changed(self._experiment.with_positions("shuffled"), "with shuffled positions")

    def with_positions_apart(self) -> ArmsOfExperiment:
        """The same arms with the positions in the directions that the table uses least."""
        return self._changed(self._experiment.with_positions("apart"), "+ PE apart")

    def with_faint_positions(self) -> ArmsOfExperiment:
        """The same arms with positions as weak as those apart, but in all directions."""
        return self._changed(self._experiment.with_positions("faint"), "+ faint PE")

    def with_positions_in_attention(self, kind: str) -> ArmsOfExperiment:
        """The same arms with ``relative`` or ``rotary`` positions, which never touch the table."""
        bare = self._experiment.without_positions()
        return self._changed(bare.with_model(attention=kind), f"with {kind} positions")

    def with_norm_after_sum(self) -> ArmsOfExperiment:
        """The same arms with a LayerNorm after table + positions."""
        changed = self._experiment.with_model(norm_after_sum=True)
        return self._changed(changed, "with LayerNorm after the sum")

    def with_layers(self, layers: int) -> ArmsOfExperiment:
        """The same arms with another depth."""
        said = f"with {layers} layer" + ("s" if layers > 1 else "")
        return self._changed(self._experiment.with_model(layers=layers), said)

    def twice_as_deep(self) -> ArmsOfExperiment:
        """The same arms with twice the tier's layers; a probe has none."""
        assert self._experiment.model is not None
        return self.with_layers(2 * self._experiment.model.layers)

    def with_sigma(self, sigma: float) -> ArmsOfExperiment:
        """The same arms with their tables standardised to ``sigma``."""
        return self._changed(self._experiment.with_sigma(sigma), f"at sigma {sigma:g}")

    def for_times_the_epochs(self, times: int) -> ArmsOfExperiment:
        """The same arms trained ``times`` as long."""
        changed = self._experiment.for_times_the_epochs(times)
        return self._changed(changed, f"for {times} × the epochs")

    def frozen(self) -> ArmsOfExperiment:
        """The same arms with tables that are not trained."""
        return self._changed(self._experiment.frozen(), "frozen")

    def scaled(self, multiplier: str, pe_scale: str = "one") -> ArmsOfExperiment:
        """The same arms with another multiplier of the table and scale of the positions."""
        usual = self._experiment.positions.multiplier
        times = {"sqrt(D)": "√D", "one": "1"}.get(multiplier, multiplier)
        said = "" if multiplier == usual else f"× {times}"
        said += "" if pe_scale == "one" else f" (PE × {pe_scale})"
        return self._changed(self._experiment.scaled(multiplier, pe_scale), said)

    def with_sinusoidal_positions(self) -> ArmsOfExperiment:
        """The same arms with a position's encoding added."""
        return self._changed(self._experiment.with_positions("sinusoidal"), "+ PE")

    def pretrained_with(self, said: str, **changes: str | float | bool) -> ArmsOfExperiment:
        """The same arms pre-trained otherwise (see ``TablePretrainingSpec``), as ``said``."""
        return self._changed(self._experiment.with_pretraining(**changes), said)

    def of_source(self, name: str) -> ArmsOfExperiment:
        """The experiment on the same task with another source of the tier.

        InputError where the setting was changed before, since the other's would not be.
        """
        if self._changes:
            raise InputError(f"ask for the source {name!r} first, and change the setting then")
        try:
            return ArmsOfExperiment(self._others[name], self._others, self._every)
        except KeyError:
            raise InputError(
                f"this tier has no experiment with source {name!r} on this task"
            ) from None


def comparisons_of(test: Callable[..., None], experiment: ArmsOfExperiment) -> list[Comparison]:
    """Every comparison that a claim makes, without any run; InputError if it makes none."""
    with read_by(Reader()) as reader:
        test(experiment=experiment)
    if not reader.met:
        raise InputError(f"{getattr(test, '__name__', test)} asserts no comparison of arms")
    return reader.met
