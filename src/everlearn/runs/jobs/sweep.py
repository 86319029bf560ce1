"""Many runs, said in a few lines: learners x streams x seeds x settings."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from everlearn import learners, streams
from everlearn.chance import check_seed
from everlearn.errors import BadInput, unknown
from everlearn.runs.jobs.job import Job
from everlearn.runs.jobs.ranges import RandomSettings
from everlearn.runs.jobs.tables import Dotted, Entry, check_shape, dotted, entry
from everlearn.runs.names import folder_name
from everlearn.runs.spec import RunSpec
from everlearn.streams.settings import Settings

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
