"""What an experiment is: one frozen value that says all there is to say about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bennafusi.results import TOO_SMALL, Finding, Picture, RunData, Table
from bennafusi.training.changes import changed

Scale = Literal["smoke", "quick", "paper"]
Runs = list[RunData]
Changes = Mapping[str, Any]

LEAST = 0.01  # of the full experiment: with less of it nothing is judged


class Extent(NamedTuple):
    """How much of an experiment settings stand for.

    Attributes:
        amount: of what it is made of, such as episodes.
        words: the same to be read, and what else was made smaller.
    """

    amount: float
    words: str


class Reason(NamedTuple):
    """Why a claim is known to fail, in a sentence, and the heading that says more of it."""

    why: str
    see: str


UNKNOWN = Reason("not explained yet; all that came out stands here", "docs/results.md")
Why = Reason | Callable[[Any], Reason]  # of some settings


def scalars(settings: Any, record: Changes) -> tuple[int, dict[str, float]]:
    """A record as the step it belongs to, and the plain numbers in it by name.

    Example:
        >>> scalars(None, {"kind": "epoch", "epoch": 3, "steps": 90, "lengths": [40, 50]})
        (3, {'epoch/steps': 90})
    """
    del settings
    when = next((name for name in ("episode", "epoch", "steps") if name in record), "")
    numbers = {
        f"{record['kind']}/{name}": value
        for name, value in record.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name != when
    }
    return int(record.get(when, 0)), numbers


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it asks, what it runs, and what it makes of the runs.

    Attributes:
        name: for the command and for folders.
        title: the question that it asks.
        lead: what is done, in a sentence or two.
        summary: in a few words, for a list.
        settings: of all its runs, a frozen dataclass, by scale: smoke takes seconds, quick minutes.
        job: of one run, from its settings and seed; see :class:`bennafusi.runs.job.Job`.
        variants: the agents by name, each with what it changes in the settings, by path. A change
            may be a function of the settings that it changes.
        paper: names of the paper's figures that it answers to.
        headline: how the names of those scores begin that say what came out.
        usual_variants: those that are run unless others are named, by scale; all of them if empty.
        seeds: how many are run unless said otherwise.
        claims: statements about the runs, judged.
        reasons: of those statements that are known to fail, the reason. It may be a function of the
            settings, where one setting fails for another reason than the next.
        extent: how much of the experiment settings stand for, to say at which part of the full
            scale a claim was judged; None if it has but one scale.
        figures: drawn into a folder, as far as the runs go.
        films: the same for what takes long to draw and a page moves by itself.
        tables: the numbers behind the figures; the first is the summary over seeds.
        scores: the numbers by which one run is known, for summaries and sweeps.
        shown: of its runs those whose distributions are shown; all, unless some only tuned others.
        scalars: of settings and a record, the step that it belongs to and its numbers by name, for
            TensorBoard and the like.
        seconds: what one run with these settings costs on this machine, measured now.
    """

    name: str
    title: str
    lead: str
    summary: str
    settings: Callable[[Scale], Any]
    job: Callable[[Any, int], Any]
    variants: Mapping[str, Changes] = field(default_factory=lambda: {"default": {}})
    paper: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    usual_variants: Callable[[Scale], tuple[str, ...]] = lambda scale: ()
    seeds: int = 3
    claims: Callable[[Runs], list[Finding]] = lambda runs: []
    reasons: Mapping[str, Why] = field(default_factory=dict)
    extent: Callable[[Any], Extent] | None = None
    figures: Callable[[Runs, Path], list[Picture]] = lambda runs, folder: []
    films: Callable[[Runs, Path], list[Picture]] = lambda runs, folder: []
    tables: Callable[[Runs], list[Table]] = lambda runs: []
    scores: Callable[[RunData], dict[str, float]] = lambda run: {}
    shown: Callable[[Runs], Runs] = lambda runs: runs
    scalars: Callable[[Any, dict[str, Any]], tuple[int, dict[str, float]]] = scalars
    seconds: Callable[[Any], float | None] = lambda settings: None

    def defaults(self, scale: Scale) -> tuple[str, ...]:
        """The variants that are run unless others are named."""
        return self.usual_variants(scale) or tuple(self.variants)

    def settings_of(self, variant: str, base: Any) -> Any:
        """The settings of one of its agents.

        Args:
            variant: which.
            base: the settings that all runs share.
        """
        if variant not in self.variants:
            raise ValueError(f"variant={variant!r}: choose one of {', '.join(self.variants)}")
        changes = self.variants[variant]
        return changed(base, {k: v(base) if callable(v) else v for k, v in changes.items()})

    def effective(self, variant: str, base: Any) -> dict[str, Any]:
        """The settings of one of its agents that matter, by which a sweep knows whom it changes.

        Those of an idle part do not, such as a chain's without a second beaker; settings may name
        theirs (``idle``).
        """
        own = self.settings_of(variant, base)
        return {**asdict(own), **dict.fromkeys(getattr(own, "idle", ()))}

    def timescales(self, variant: str, base: Any) -> list[float]:
        """Of the beakers of one of its agents, in updates; none if its settings have no chain."""
        part = getattr(self.settings_of(variant, base), "chain", None)
        chain = getattr(part, "chain", None)
        return [] if chain is None else chain.timescales.tolist()

    def job_of(self, variant: str, seed: int, base: Any) -> Any:
        """The job of one run, from the settings that all runs share."""
        return self.job(self.settings_of(variant, base), seed)

    def judge(self, runs: Runs, settings: Any) -> list[Finding]:
        """Its claims about runs with these settings, each with the scale it was judged at.

        Less than a hundredth of the experiment is too small to judge, and shows that it runs.
        """
        found = self.claims(runs)
        if self.extent is not None:
            mine, full = self.extent(settings), self.extent(self.settings("paper"))
            scale = _scale(mine, full, "the paper's scale" if self.paper else "full scale")
            if mine.amount < LEAST * full.amount:
                nothing = f"{TOO_SMALL}: {mine.words}"
                found = [f._replace(measured=nothing, holds=None) for f in found]
            found = [finding._replace(scale=scale) for finding in found]
        return [
            f._replace(**self.reason(f.statement, settings)._asdict()) if f.holds is False else f
            for f in found
        ]

    def reason(self, statement: str, settings: Any) -> Reason:
        """Why a statement fails with these settings."""
        found = self.reasons.get(statement, UNKNOWN)
        return found(settings) if callable(found) else found

    def in_order(self, runs: Iterable[Any]) -> list[Any]:
        """Runs, or rows about them, as its figures have them: by variant, then by seed."""
        order = {name: place for place, name in enumerate(self.variants)}
        return sorted(runs, key=lambda r: (order.get(r.variant, len(order)), r.variant, r.seed))


def _scale(mine: Extent, full: Extent, name: str) -> str:
    """Of which part of the full experiment something was said.

    Example:
        >>> _scale(Extent(50, "50 episodes"), Extent(1000, "1,000 episodes"), "full scale")
        '5% of full scale: 50 episodes (full: 1,000 episodes)'
        >>> _scale(Extent(1000, "1,000 episodes"), Extent(1000, "1,000 episodes"), "full scale")
        'full scale: 1,000 episodes'
        >>> _scale(Extent(1995, "1,995 episodes"), Extent(1000, "1,000 episodes"), "full scale")
        '200% of full scale: 1,995 episodes (full: 1,000 episodes)'
    """
    if mine == full:
        return f"{name}: {mine.words}"
    percent = float(f"{100 * mine.amount / full.amount:.2g}")
    return f"{percent:g}% of {name}: {mine.words} (full: {full.words})"


def drawn(*pictures: Picture | None) -> list[Picture]:
    """The figures that the runs were far enough for."""
    return [picture for picture in pictures if picture is not None]
