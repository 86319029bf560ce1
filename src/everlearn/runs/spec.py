"""What to play: a stream, a learner, and how they meet."""

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_serializer, field_validator

from everlearn import learners, streams
from everlearn.learners import Learner
from everlearn.streams import StreamSettings


class LearnerSpec(BaseModel):
    """A learner by name, with the settings that differ from its defaults (or all of them)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = "dcl"
    settings: dict[str, Any] = {}


class Evaluation(BaseModel):
    """When and on how much a learner is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    probe_size: int = Field(1000, ge=1, le=1_000_000, description="test images over all tasks seen so far")
    every: int = Field(1, ge=1, description="score after every so many tasks")
    inside_every: int = Field(0, ge=0, description="score inside a task after so many batches; 0 = never")
    ahead: bool = Field(True, description="score each task before it is learned, for forward transfer")


class RunSpec(BaseModel):
    """All that decides what a run does; equal specs give equal runs.

    Attributes:
        stream: what arrives.
        learner: who learns.
        n_tasks: how many tasks to play.
        epochs: passes over each task; 1 is online, every image is seen once.
        batch_size: images per step.
        seed: decides the order of images and everything the learner leaves to chance.
        device: where torch computes.
        evaluation: when and on how much the learner is judged.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    stream: SerializeAsAny[StreamSettings]
    learner: LearnerSpec = LearnerSpec()
    n_tasks: int = Field(20, ge=1, le=10_000_000)
    epochs: int = Field(1, ge=1, le=10_000)
    batch_size: int = Field(64, ge=1, le=65_536)
    seed: int = Field(0, ge=0, le=2**63 - 1)
    device: str = Field("cpu", pattern=r"^(cpu|cuda(:\d+)?|mps)$")
    evaluation: Evaluation = Evaluation()

    def completed(self) -> "RunSpec":
        """The same spec with every default of the learner written out, and everything checked."""
        return self

    @property
    def hash(self) -> str:
        """One hash over everything that decides the run."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The spec as JSON."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=1)

    def build_learner(self, image_shape: tuple[int, ...]) -> Learner:
        """A fresh learner for images of a shape."""
        return learners.build(self.learner.name, image_shape=image_shape, seed=self.seed, **self.learner.settings)
