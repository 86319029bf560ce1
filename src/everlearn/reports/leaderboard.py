"""The leaderboard: score cards of many learners side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from everlearn.evaluation.formatting import LEGEND
from everlearn.reports.score_card import MEASURED, NOT_APPLICABLE, NOT_RUN, Score, ScoreCard
from everlearn.runs.sweep.suite import SIZES, SUITE

if TYPE_CHECKING:
    from rich.console import Group

ACCURACY = (
    "short", "middle", "long", "forgetting", "nuisances", "one_shot", "open_set", "worst_case",
)  # fmt: skip
COST = ("long", "bytes", "flops", "images", "seconds", "answer_flops", "answer_ms")
TABLES: Mapping[str, Sequence[str]] = {"Scores": ACCURACY, "Cost of the long run": COST}
"""Titles and columns of the tables of a size."""


@dataclass(frozen=True)
class Leaderboard:
    """Score cards as tables, by decreasing accuracy after the most tasks."""

    cards: Sequence[ScoreCard]

    def of_size(self, size: str) -> list[ScoreCard]:
        """The cards of a size, best first."""
        return sorted((card for card in self.cards if card.size == size and card.suite == SUITE), key=_rank)

    def columns(self) -> dict[str, list[dict[str, Any]]]:
        """The columns of each size that has cards, as JSON values."""
        known = {size: cards[0].measures for size in SIZES if (cards := self.of_size(size))}
        return {
            size: [
                {"key": key, "heading": each.heading, "meaning": each.meaning, "is_cost": each.is_cost}
                for key, each in measures.items()
            ]
            for size, measures in known.items()
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each card as JSON values, for sortable tables: each score has a text and a number."""
        return [_row(card) for size in SIZES for card in self.of_size(size)]

    def text(self) -> "Group":
        """All tables for a terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table

        parts: list[Any] = []
        for heading, rows in self._tables():
            # Without the supervision, which is wide.
            head, *body = ([name, *cells] for name, _, *cells in rows)
            table = Table(*head, box=SIMPLE_HEAD, pad_edge=False, title=heading, title_justify="left")
            for row in body:
                table.add_row(*row)
            parts.append(table)
        return Group(*parts, f"{LEGEND}.")

    def to_markdown(self) -> str:
        """All tables in Markdown, with the meaning of their columns."""
        parts = []
        for heading, rows in self._tables():
            lines = [f"| {' | '.join(row)} |" for row in rows]
            parts.append("\n".join([f"### {heading}", "", lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]))
        return "\n\n".join([*parts, *self._columns(), f"{LEGEND}.", *self._reasons()]) + "\n"

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """The heading and the rows of each table; the first row has the titles of columns."""
        for size in SIZES:
            cards = self.of_size(size)
            for title, keys in TABLES.items() if cards else ():
                known = cards[0].measures
                head = ["learner", "supervision", "seeds", *(known[key].heading for key in keys)]
                yield (
                    f"{title}, size {size}",
                    [head, *([*_identity(card), *_cells(card, keys)] for card in cards)],
                )

    def _columns(self) -> Iterator[str]:
        """The meaning of each column, for every size that has cards."""
        for size, columns in self.columns().items():
            lines = (f"- {each['heading']}: {each['meaning']}" for each in columns)
            yield "\n".join([f"Columns, size {size} ({SIZES[size].description}):", "", *lines])

    def _reasons(self) -> Iterator[str]:
        """The reasons of missing scores, and the learners that they apply to."""
        found: dict[str, dict[str, None]] = {}
        for card in self.cards:
            for key, score in card.scores.items():
                if score.status != MEASURED and score.reason:
                    # Reasons why something is not applicable start with the name of the class.
                    is_named = score.status == NOT_APPLICABLE
                    reason = score.reason.partition(" ")[2] if is_named else score.reason
                    line = f"- {card.measures[key].heading}, {score.status}, {reason}"
                    found.setdefault(line, {})[card.name] = None
        if found:
            yield "\n".join(f"{line}: {', '.join(sorted(names))}" for line, names in sorted(found.items()))


def _rank(card: ScoreCard) -> tuple[float, str]:
    mean = card.scores.get("long", Score()).mean
    return (1.0 if mean is None else -mean, card.name)


def _identity(card: ScoreCard) -> list[str]:
    return [card.name.replace("|", "/"), card.supervision or "–", str(len(card.seeds))]


def _cells(card: ScoreCard, keys: Sequence[str]) -> list[str]:
    return [card.scores.get(key, Score((), NOT_RUN)).text(card.measures[key]) for key in keys]


def _row(card: ScoreCard) -> dict[str, Any]:
    scores = {
        key: {"text": score.text(card.measures[key]), "value": score.mean, "reason": score.reason}
        for key, score in card.scores.items()
    }
    facts = {key: getattr(card, key) for key in ("name", "learner", "size", "supervision", "settings")}
    return {**facts, "seeds": len(card.seeds), "scores": scores}
