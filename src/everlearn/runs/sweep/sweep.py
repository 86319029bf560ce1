"""Sweeps: all combinations of learners, streams, seeds and settings, from a short description."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from everlearn import learners, streams
from everlearn.errors import BadInput, unknown
from everlearn.rng import MAX_SEED, check_seed, rng_at
from everlearn.runs.run_record import folder_name
from everlearn.runs.spec import SECTIONS, RunSpec
from everlearn.runs.sweep.jobs import Job
from everlearn.settings import Settings, to_dotted

MAX_RUNS = 100_000
MAX_SAMPLES = 100_000
DIGITS = 4
"""Significant digits of sampled settings; few, so that powers are equal on all machines."""
KEYS: dict[str, tuple[type, str]] = {
    "learners": (list, 'a list such as ["dcl", "er"]'),
    "streams": (list, 'a list such as ["sprites", "mnist"]'),
    "seeds": (list, "a list such as [0, 1, 2]"),
    "settings": (dict, "a table of settings, such as n_tasks = 20"),
    "grid": (dict, "a table of lists, such as epochs = [1, 5]"),
    "variants": (list, "tables of settings under [[variants]]"),
    "random": (dict, "a table, such as n_samples = 5 and epochs = { low = 1, high = 10 }"),
    "resources": (dict, "a table of threads, memory (gigabytes) and gpus of each run, such as threads = 2"),
}
"""Type and an example of each key."""
RESOURCES: dict[str, Any] = {"threads": int, "memory": int | float, "gpus": int | float}
SETTINGS_CLASS: dict[str, Callable[[str], type[Settings]]] = {
    "learner": learners.settings_class,
    "stream": streams.settings_class,
}


def _dotted(table: Any) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise BadInput(f"cannot read {table!r:.60}; write a table of settings, such as n_tasks = 20")
    return to_dotted(table, SECTIONS)


DottedSettings = Annotated[dict[str, Any], BeforeValidator(_dotted)]
"""Settings by names such as stream.image_size; read from tables of sections."""


class Entry(Settings):
    """A learner or a stream with its own settings."""

    kind: ClassVar[str] = "entry"

    name: str
    """short name"""
    settings: dict[str, Any] = Field(default_factory=dict)
    """settings of this entry only"""


def _read_entry(value: Any) -> Any:
    if isinstance(value, Entry):
        return value
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return {"name": value["name"], "settings": {name: value[name] for name in value if name != "name"}}
    raise BadInput(f'cannot read {value!r:.60}; write "er" or {{ name = "er", memory_size = 500 }}')


Entries = list[Annotated[Entry, BeforeValidator(_read_entry)]]


class Range(Settings):
    """Numbers from `low` to `high`, both included."""

    kind: ClassVar[str] = "range"

    low: int | float
    """minimum"""
    high: int | float
    """maximum"""
    log: bool = False
    """sample uniformly on a logarithmic scale"""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise BadInput(f"low is {self.low} and high is {self.high}; low must not exceed high")
        if self.log and self.low <= 0:
            raise BadInput(f"low is {self.low}; with log it must be above 0")
        return self

    def at(self, fraction: float) -> int | float:
        """The number at a fraction of the range, an integer if both ends are.

        Example:
            >>> Range(low=1, high=5).at(0.5), Range(low=1e-4, high=1e-2, log=True).at(0.5)
            (3, 0.001)
        """
        low, high = self.low, self.high
        is_integer = isinstance(low, int) and isinstance(high, int)
        if is_integer and not self.log:
            return min(int(low + fraction * (high - low + 1)), int(high))
        value = low * (high / low) ** fraction if self.log else low + fraction * (high - low)
        value = min(max(float(f"{value:.{DIGITS}g}"), low), high)
        return round(value) if is_integer else value


class RandomSearch(Settings):
    """Settings that are sampled at random."""

    kind: ClassVar[str] = "random"

    n_samples: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] = 1
    """number of samples"""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """seed of the samples"""
    settings: dict[str, Range | list[Any]] = Field(default_factory=dict)
    """the values of each setting: a list or a range"""

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Read a table in which settings stand beside n_samples and seed."""
        own = {name: table[name] for name in ("n_samples", "seed") if name in table}
        return cls(**own, settings={name: _values(name, table[name]) for name in table if name not in own})

    @property
    def n_combinations(self) -> int:
        """Number of combinations."""
        return self.n_samples if self.settings else 1

    def samples(self) -> list[DottedSettings]:
        """The settings of each sample."""
        return [
            {name: sample(self.seed, name, number, values) for name, values in self.settings.items()}
            for number in range(self.n_combinations)
        ]


def sample(seed: int, name: str, number: int, values: Range | Sequence[Any]) -> Any:
    """Sample `number` of a setting; independent of other settings and other samples.

    Example:
        >>> [sample(0, "epochs", number, [1, 5, 20]) for number in range(5)]
        [20, 5, 5, 1, 20]
    """
    fraction = float(rng_at(seed, f"sweep {name}", number).uniform(1)[0])
    return values.at(fraction) if isinstance(values, Range) else values[int(fraction * len(values))]


def _values(name: str, value: Any) -> Any:
    if isinstance(value, list) and value:
        return value
    if not isinstance(value, Mapping) or not {"low", "high"} <= value.keys() <= Range.model_fields.keys():
        raise BadInput(f"random.{name} is {value!r:.60}; give a list of values, or {{ low = 1, high = 10 }}")
    try:
        return Range(**value)
    except BadInput as error:
        raise BadInput(f"random.{name}: {error}") from None


def _read_random(table: Any) -> Any:
    return RandomSearch.from_table(_dotted(table)) if isinstance(table, Mapping) else table


def _read_grid(table: Any) -> dict[str, Any]:
    grid = _dotted(table)
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise BadInput(f"grid.{name} is {values!r:.60}; give a list of values, such as [1, 5]")
    return grid


def _read_resources(table: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in table.items():
        if name not in RESOURCES:
            raise BadInput(f"unknown resource {name!r}; use threads (one CPU each), memory or gpus")
        if isinstance(value, bool) or not isinstance(value, RESOURCES[name]):
            raise BadInput(f"resources.{name} is {value!r:.60}; it must be a number such as 1")
    return table


class Sweep(Settings):
    """All combinations of learners, streams, seeds and settings; each is a run.

    A setting that only some of the learners (or streams) have is set for those.

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

    learners: Entries
    """names, or tables of a name and settings"""
    streams: Entries = Field(default_factory=lambda: [Entry(name="sprites")])
    """names, or tables of a name and settings"""
    seeds: list[Annotated[int, BeforeValidator(check_seed)]] = Field(default_factory=lambda: [0])
    """seeds of runs and streams"""
    settings: DottedSettings = Field(default_factory=dict)
    """settings of all runs"""
    grid: Annotated[dict[str, list[Any]], BeforeValidator(_read_grid)] = Field(default_factory=dict)
    """several values of each setting, for all combinations"""
    variants: list[DottedSettings] = Field(default_factory=list)
    """settings that change together"""
    random: Annotated[RandomSearch, BeforeValidator(_read_random)] = RandomSearch()
    """settings that are sampled at random"""
    resources: Annotated[dict[str, int | float], BeforeValidator(_read_resources)] = Field(
        default_factory=dict
    )
    """resources of each run: threads, memory in gigabytes, gpus"""

    def specs(self) -> list[RunSpec]:
        """The runs without duplicates, sorted by seed."""
        combinations = product(self.seeds, self.streams, self.learners, self._combinations())
        specs = (_spec(stream, learner, seed, settings) for seed, stream, learner, settings in combinations)
        return list({spec.hash: spec for spec in specs}.values())

    def jobs(self, records: Path) -> list[Job]:
        """A job for each run, whose record is a subfolder of `records`."""
        return [Job(spec=spec, folder=records / folder_name(spec.title, spec.hash)) for spec in self.specs()]

    def _combinations(self) -> list[DottedSettings]:
        cells = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        combinations = product(cells, self.variants or [{}], self.random.samples())
        return [{**self.settings, **cell, **variant, **sampled} for cell, variant, sampled in combinations]

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, table: dict[str, Any]) -> dict[str, Any]:
        for name in table:
            if name not in KEYS:
                raise unknown("key of a sweep", name, KEYS)
        if "learners" not in table:
            raise BadInput(f"a sweep needs learners; write {KEYS['learners'][1]}")
        for name, value in table.items():
            expected, example = KEYS[name]
            if not isinstance(value, expected) or (value == [] and name != "variants"):
                raise BadInput(f"{name} is {value!r:.60}; write {example}")
        return table

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
        """Raise an error for a setting that none of the learners (or streams) has."""
        for part, entries in (("learner", self.learners), ("stream", self.streams)):
            known = {field for each in entries for field in SETTINGS_CLASS[part](each.name).model_fields}
            for name in names:
                of, _, field = name.partition(".")
                if of == part and field and field not in known:
                    raise unknown(f"{part} setting", field, known)

    def _check_size(self) -> None:
        parts = (self.seeds, self.streams, self.learners, self.variants or "-", *self.grid.values())
        n_runs = math.prod(map(len, parts)) * self.random.n_combinations
        if n_runs > MAX_RUNS:
            raise BadInput(f"the sweep has {n_runs:,} runs; at most {MAX_RUNS:,} are possible")


def _spec(stream: Entry, learner: Entry, seed: int, settings: DottedSettings) -> RunSpec:
    """One run; settings of an entry take precedence over settings of the sweep."""
    own = {f"stream.{name}": value for name, value in stream.settings.items()}
    own |= {f"learner.{name}": value for name, value in learner.settings.items()}
    entries = {"stream": stream, "learner": learner}
    common = {name: value for name, value in settings.items() if _is_known(name, entries)}
    return RunSpec.make(
        stream=stream.name,
        learner=learner.name,
        settings={"stream.seed": seed, **common, **own, "seed": seed},
    )


def _is_known(name: str, entries: Mapping[str, Entry]) -> bool:
    part, _, field = name.partition(".")
    if part not in entries or not field:
        return True
    return field in SETTINGS_CLASS[part](entries[part].name).model_fields
