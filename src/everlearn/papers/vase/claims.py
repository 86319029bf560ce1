"""What the paper says, as questions that records can answer.

Seeds are compared with themselves: all learners met the same images under the same seed.
"""

from collections.abc import Mapping
from typing import Any

from everlearn.papers.exhibit import Claim, Groups, Verdict
from everlearn.papers.seeds import Measure, gap, measured
from everlearn.papers.vase.readings import kept, surroundings
from everlearn.reports.formatting import DASH, digits, share

HALF = 0.5
"""What VASE may lose of what its baseline loses."""
SOON = 5
"""Batches within which a change of environment must be noticed."""
SELDOM = 1.0
"""Environments that may be made up in 10,000 batches."""
TWO = 2
"""Latents that it takes to say where a thing is."""

FORMS = {"object": share, "position": digits}
LOSSES = {"object": -1.0, "position": 1.0}
"""The sign that makes a change a loss: accuracy is lost when it falls, places when their error rises."""


def loses_half(words: str, quantity: str, better: str, worse: str) -> Claim:
    """That one loses at most half of what another does, which loses something under every seed."""
    loss, form = _loss(quantity), FORMS[quantity]

    def check(groups: Groups) -> Verdict:
        left, other = (measured(groups[name], loss) for name in (better, worse))
        if left is None or other is None:
            return Verdict(False, "nothing was read from codes")
        forgets = all(loss(run) > 0 for run in groups[worse].runs)
        holds = forgets and left.mean <= HALF * other.mean
        return Verdict(holds, f"lost: {better} {form(left)}, {worse} {form(other)}")

    return Claim(words, (better, worse), check)


def loses_more(words: str, quantity: str, worse: str, better: str) -> Claim:
    """That one loses more than another, by more than the spread over seeds explains."""
    loss, form = _loss(quantity), FORMS[quantity]

    def check(groups: Groups) -> Verdict:
        apart = gap(groups[worse], groups[better], loss)
        told = ", ".join(f"{name} {form(measured(groups[name], loss))}" for name in (worse, better))
        return Verdict(apart.mean > 0 and not apart.low <= 0, f"lost: {told}; apart {form(apart)}")

    return Claim(words, (worse, better), check)


def knows_less(words: str, quantity: str, worse: str, better: str) -> Claim:
    """That less can be read from the codes of one at the end than from another's, clear of the spread."""
    final = kept(quantity, "final")

    def check(groups: Groups) -> Verdict:
        apart = gap(groups[better], groups[worse], final)
        told = ", ".join(f"{name} {share(measured(groups[name], final))}" for name in (worse, better))
        return Verdict(apart.mean > 0 and not apart.low <= 0, f"at the end: {told}; apart {share(apart)}")

    return Claim(words, (worse, better), check)


def as_good_at_best(words: str, quantity: str, name: str, other: str, within: float) -> Claim:
    """That the best of one is not below that of another by more than a little."""
    best = kept(quantity, "best")

    def check(groups: Groups) -> Verdict:
        apart = gap(groups[name], groups[other], best)
        told = ", ".join(f"{each} {share(measured(groups[each], best))}" for each in (name, other))
        return Verdict(apart.mean >= -within, f"best: {told}; apart {share(apart)}")

    return Claim(words, (name, other), check)


def reaches(words: str, quantity: str, name: str, least: float) -> Claim:
    """That the best of one is at least so much."""
    best = kept(quantity, "best")

    def check(groups: Groups) -> Verdict:
        found = measured(groups[name], best)
        return Verdict(found is not None and found.mean >= least, f"best: {name} {share(found)}")

    return Claim(words, (name,), check)


def loses_at_most(words: str, quantity: str, name: str, most: float) -> Claim:
    """That one loses no more than so much."""
    loss, form = _loss(quantity), FORMS[quantity]

    def check(groups: Groups) -> Verdict:
        found = measured(groups[name], loss)
        return Verdict(found is not None and found.mean <= most, f"lost: {name} {form(found)}")

    return Claim(words, (name,), check)


def notices(words: str, name: str) -> Claim:
    """That every change of environment is rightly found, soon, and next to none made up."""

    def check(groups: Groups) -> Verdict:
        found = [surroundings(run)["detection"] for run in groups[name].runs]
        right, changes = (sum(each[key] for each in found) for key in ("n_right", "n_changes"))
        late = [each["latest"] for each in found if each["latest"] is not None]
        false_new = max(each["false_new"] for each in found)
        latest = f"{max(late):.0f}" if late else DASH
        holds = right == changes and max(late, default=0) <= SOON and false_new <= SELDOM
        told = f"{right} of {changes} found, the last after {latest} batches; at most"
        return Verdict(holds, f"{told} {false_new:.2f} made up in 10,000")

    return Claim(words, (name,), check)


def recognises(words: str, name: str) -> Claim:
    """That whatever comes back is taken for what it is, by one that had noticed that it was gone."""

    def check(groups: Groups) -> Verdict:
        back = [
            stage for run in groups[name].runs for stage in surroundings(run)["stages"] if not stage["is_new"]
        ]
        told = ", ".join(map(_met, back))
        holds = bool(back) and all(stage["found"] == "known" and stage["delay"] > 0 for stage in back)
        return Verdict(holds, told)

    return Claim(words, (name,), check)


def shares_places(words: str, name: str) -> Claim:
    """That the same latents say where things are wherever they move, and are closed where nothing does."""

    def check(groups: Groups) -> Verdict:
        told = [surroundings(run) for run in groups[name].runs]
        holds = all(len(each["shared"]) >= TWO and each["masked"] == each["shared"] for each in told)
        seen = "; ".join(f"shared {_list(each['shared'])}, closed {_list(each['masked'])}" for each in told)
        return Verdict(holds, seen)

    return Claim(words, (name,), check)


def _loss(quantity: str) -> Measure:
    change = kept(quantity, "change")
    return lambda run: LOSSES[quantity] * change(run)


def _met(stage: Mapping[str, Any]) -> str:
    late = "" if stage["delay"] is None else f" after {stage['delay']:.0f} batches"
    return f"{stage['name']}: {stage['found']}{late}"


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
