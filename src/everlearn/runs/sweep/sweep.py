"""Many runs, said in a few lines: learners x streams x seeds x settings."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from everlearn import learners, streams
from everlearn.errors import BadInput, unknown
from everlearn.rng import MAX_SEED, check_seed, rng_at
from everlearn.runs.run_record import folder_name
from everlearn.runs.spec import PARTS, RunSpec
from everlearn.runs.sweep.jobs import Job
from everlearn.settings import Settings, to_dotted

SHAPES: dict[str, tuple[type, str]] = {
    "learners": (list, 'a list such as ["dcl", "er"]'),
    "streams": (list, 'a list such as ["sprites", "mnist"]'),
    "seeds": (list, "a list such as [0, 1, 2]"),
    "settings": (dict, "a table of settings, such as n_tasks = 20"),
    "grid": (dict, "a table of lists, such as epochs = [1, 5]"),
    "variants": (list, "tables of settings under [[variants]]"),
    "resources": (
        dict,
        "a table of threads, memory (gigabytes) and gpus that each run takes, such as threads = 2",
    ),
    "random": (dict, "a table, such as draws = 5 and epochs = { low = 1, high = 10 }"),
}
"""What stands under each key."""

Dotted = dict[str, Any]
"""Settings by names such as stream.image_size."""


class Entry(Settings):
    """A learner or a stream, with settings of its own if it has any."""

    kind: ClassVar[str] = "entry"

    name: str
    """which one"""
    settings: dict[str, Any] = Field(default_factory=dict)
    """what only it has"""


def check_shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, or a complaint about a key that is unknown or holds the wrong kind of thing."""
    for name in given:
        if name not in SHAPES:
            raise unknown("key of a sweep", name, SHAPES)
    if "learners" not in given:
        raise BadInput(f"a sweep needs learners; write {SHAPES['learners'][1]}")
    for name, value in given.items():
        shape, example = SHAPES[name]
        if not isinstance(value, shape) or (value == [] and name != "variants"):
            raise BadInput(f"{name} is {value!r:.60}; write {example}")
    return dict(given)


def entry(given: Any) -> Any:
    """A learner or a stream, from its name or a table with its name and settings."""
    if isinstance(given, Entry):
        return given
    if isinstance(given, str):
        return {"name": given}
    if isinstance(given, Mapping) and isinstance(given.get("name"), str):
        return {"name": given["name"], "settings": {name: given[name] for name in given if name != "name"}}
    raise BadInput(f'cannot tell what {given!r:.60} is; write "er" or {{ name = "er", memory_size = 500 }}')


def dotted(table: Any) -> Dotted:
    """Settings in the tables of their parts, by dotted names.

    Example:
        >>> dotted({"n_tasks": 20, "stream": {"image_size": 32}})
        {'n_tasks': 20, 'stream.image_size': 32}
    """
    if not isinstance(table, Mapping):
        raise BadInput(f"cannot tell what {table!r:.60} is; write a table of settings, such as n_tasks = 20")
    return to_dotted(table, PARTS)


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

    rng_at: Annotated[int, Field(ge=1, le=MAX_DRAWS)] = 1
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
        return self.rng_at if self.settings else 1

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
    share = float(rng_at(seed, f"sweep {name}", number).uniform(1)[0])
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


MAX_RUNS = 100_000
SETTINGS_OF: dict[str, Callable[[str], type[Settings]]] = {
    "learner": learners.settings_class,
    "stream": streams.settings_class,
}

SPRITES = Entry(name="sprites")
RESOURCES: dict[str, Any] = {"threads": int, "memory": int | float, "gpus": int | float}


class Sweep(Settings):
    """Every combination of some learners, streams, seeds and settings, each of which is a run.

    A setting that only some of the learners (or streams) know is only set for those.

    Example:
        >>> sweep = Sweep(
        ...     learners=["naive", "er"],
        ...     seeds=[0, 1],
        ...     settings={"n_tasks": 3},
        ...     grid={"learner": {"memory_size": [100, 500]}},
        ... )
        >>> [(spec.learner.name, spec.learner.settings.get("memory_size")) for spec in sweep.specs()[:3]]
        [('naive', None), ('er', 100), ('er', 500)]
        >>> len(sweep.specs())
        6
    """

    kind: ClassVar[str] = "sweep"

    learners: list[Entry]
    """who learns: names, or tables of a name and settings that only this one has"""
    streams: list[Entry] = Field(default_factory=lambda: [SPRITES])
    """what arrives: names, or tables as for learners"""
    seeds: list[int] = Field(default_factory=lambda: [0])
    """each for a run and its stream"""
    settings: Dotted = Field(default_factory=dict)
    """what all runs have in common"""
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    """several values for each setting, of which every combination is played"""
    variants: list[Dotted] = Field(default_factory=list)
    """settings that change together, one table for each variant"""
    random: RandomSettings = RandomSettings()
    """settings that are drawn at random"""
    resources: dict[str, int | float] = Field(default_factory=dict)
    """what each run takes while it is played: threads, memory in gigabytes, gpus"""

    def specs(self) -> list[RunSpec]:
        """Every run once; all with the first seed come before those with the next."""
        made = {
            spec.hash: spec
            for seed, stream, learner, settings in product(
                self.seeds, self.streams, self.learners, self._combinations()
            )
            for spec in [_spec(stream, learner, seed, settings)]
        }
        return list(made.values())

    def jobs(self, records: Path) -> list[Job]:
        """A job for each run, whose record goes into a folder of its own."""
        return [Job(spec=spec, folder=records / folder_name(spec.title, spec.hash)) for spec in self.specs()]

    def _combinations(self) -> list[Dotted]:
        cells = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        several = product(cells, self.variants or [{}], self.random.drawn())
        return [{**self.settings, **cell, **variant, **drawn} for cell, variant, drawn in several]

    @model_validator(mode="before")
    @classmethod
    def _check_shape(cls, given: dict[str, Any]) -> dict[str, Any]:
        return check_shape(given)

    @field_validator("learners", "streams", mode="before")
    @classmethod
    def _read_entries(cls, entries: list[Any]) -> list[Any]:
        return [entry(each) for each in entries]

    @field_validator("seeds", mode="before")
    @classmethod
    def _read_seeds(cls, seeds: list[Any]) -> list[int]:
        return [check_seed(seed) for seed in seeds]

    @field_validator("settings", mode="before")
    @classmethod
    def _read_settings(cls, table: Mapping[str, Any]) -> Dotted:
        return dotted(table)

    @field_validator("grid", mode="before")
    @classmethod
    def _read_grid(cls, table: Mapping[str, Any]) -> Dotted:
        grid = dotted(table)
        for name, values in grid.items():
            if not isinstance(values, list) or not values:
                raise BadInput(f"grid.{name} is {values!r:.60}; give a list of values, such as [1, 5]")
        return grid

    @field_validator("variants", mode="before")
    @classmethod
    def _read_variants(cls, tables: list[Any]) -> list[Dotted]:
        return [dotted(table) for table in tables]

    @field_validator("resources", mode="before")
    @classmethod
    def _check_resources(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, value in table.items():
            if name not in RESOURCES:
                raise BadInput(f"unknown resource {name!r}; name threads (one CPU each), memory or gpus")
            if isinstance(value, bool) or not isinstance(value, RESOURCES[name]):
                raise BadInput(f"resources.{name} is {value!r:.60}; it must be a number such as 1")
        return table

    @field_validator("random", mode="before")
    @classmethod
    def _read_random(cls, table: Any) -> Any:
        return RandomSettings.read(dotted(table)) if isinstance(table, Mapping) else table

    @model_validator(mode="after")
    def _check(self) -> Self:
        in_variants = {name: None for variant in self.variants for name in variant}
        names = [*self.settings, *self.grid, *in_variants, *self.random.settings]
        for name in names:
            if name == "seed":
                raise BadInput("seed is set; list the seeds of the runs in seeds")
            if names.count(name) > 1:
                raise BadInput(f"{name} is in two of settings, grid, variants and random; set it in one")
        self._check_known(names)
        self._check_size()
        return self

    def _check_known(self, names: Iterable[str]) -> None:
        """A setting that nobody knows is a mistake, one that somebody does not know is none."""
        for part, entries in (("learner", self.learners), ("stream", self.streams)):
            known = {field for each in entries for field in SETTINGS_OF[part](each.name).model_fields}
            for name in names:
                of, _, field = name.partition(".")
                if of == part and field and field not in known:
                    raise unknown(f"{part} setting", field, known)

    def _check_size(self) -> None:
        counts = map(
            len, (self.seeds, self.streams, self.learners, self.variants or "-", *self.grid.values())
        )
        n_runs = math.prod(counts) * self.random.n_draws
        if n_runs > MAX_RUNS:
            raise BadInput(f"the sweep has {n_runs:,} runs; at most {MAX_RUNS:,} are possible, say less")


def _spec(stream: Entry, learner: Entry, seed: int, settings: Dotted) -> RunSpec:
    """One run; what a learner or a stream has of its own goes before what is said for all."""
    own = {f"stream.{name}": value for name, value in stream.settings.items()}
    own |= {f"learner.{name}": value for name, value in learner.settings.items()}
    fitting = {name: value for name, value in settings.items() if _fits(name, stream, learner)}
    chosen = {"stream.seed": seed, **fitting, **own, "seed": seed}
    return RunSpec.make(stream=stream.name, learner=learner.name, settings=chosen)


def _fits(name: str, stream: Entry, learner: Entry) -> bool:
    part, _, field = name.partition(".")
    whose = {"stream": stream, "learner": learner}.get(part)
    return whose is None or not field or field in SETTINGS_OF[part](whose.name).model_fields
