"""Settings drawn at random, the same ones for the same seed on every machine."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from everlearn.chance import MAX_SEED, draws
from everlearn.errors import BadInput
from everlearn.streams.settings import Settings

DIGITS = 4
"""Digits that are kept: enough for a setting, too few for two machines to disagree about a power."""
MAX_DRAWS = 100_000


class Range(Settings):
    """Numbers from `low` to `high`, both of them possible."""

    kind: ClassVar[str] = "range"

    low: int | float
    """the least"""
    high: int | float
    """the most"""
    log: bool = False
    """whether 1 to 10 is as likely as 10 to 100"""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise BadInput(f"low is {self.low} and high is {self.high}; low must not be the larger")
        if self.log and self.low <= 0:
            raise BadInput(f"low is {self.low}; with log it must be above 0")
        return self

    def at(self, share: float) -> int | float:
        """The number at a share of the way, whole if both ends are.

        Example:
            >>> Range(low=1, high=5).at(0.5), Range(low=1e-4, high=1e-2, log=True).at(0.5)
            (3, 0.001)
        """
        low, high = self.low, self.high
        is_whole = isinstance(low, int) and isinstance(high, int)
        if is_whole and not self.log:
            return min(int(low + share * (high - low + 1)), int(high))
        value = low * (high / low) ** share if self.log else low + share * (high - low)
        value = min(max(float(f"{value:.{DIGITS}g}"), low), high)
        return round(value) if is_whole else value


class RandomSettings(Settings):
    """Some settings, each drawn so many times."""

    kind: ClassVar[str] = "random"

    draws: Annotated[int, Field(ge=1, le=MAX_DRAWS)] = 1
    """how often to draw"""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """decides what is drawn"""
    settings: dict[str, Range | list[Any]] = Field(default_factory=dict)
    """from what each is drawn: the values of a list, or a range"""

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """How often, by which seed, and settings beside them."""
        how = {name: table[name] for name in ("draws", "seed") if name in table}
        settings = {name: _among(name, value) for name, value in table.items() if name not in how}
        return cls(**how, settings=settings)

    @property
    def n_draws(self) -> int:
        """How many combinations there are."""
        return self.draws if self.settings else 1

    def drawn(self) -> list[dict[str, Any]]:
        """The settings of each draw."""
        return [
            {name: draw(self.seed, name, number, among) for name, among in self.settings.items()}
            for number in range(self.n_draws)
        ]


def draw(seed: int, name: str, number: int, among: Range | Sequence[Any]) -> Any:
    """Draw so-and-so-many of a setting; no other setting and no other number has a say in it.

    Example:
        >>> [draw(0, "epochs", number, [1, 5, 20]) for number in range(5)]
        [20, 5, 5, 1, 20]
    """
    share = float(draws(seed, f"sweep {name}", number).uniform(1)[0])
    return among.at(share) if isinstance(among, Range) else among[int(share * len(among))]


def _among(name: str, value: Any) -> Any:
    if isinstance(value, list) and value:
        return value
    if not isinstance(value, Mapping) or not {"low", "high"} <= value.keys() <= Range.model_fields.keys():
        raise BadInput(f"random.{name} is {value!r:.60}; give a list of values, or {{ low = 1, high = 10 }}")
    try:
        return Range(**value)
    except BadInput as error:
        raise BadInput(f"random.{name}: {error}") from None
