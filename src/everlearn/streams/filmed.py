"""Shapes filmed as CORe50 films things: a few sessions each, in each of which the shape moves smoothly."""

from typing import Annotated

from pydantic import Field

from everlearn.streams.choices import Count, ImageSize, Unit
from everlearn.streams.kinds import builder
from everlearn.streams.scenarios import Scenario, ScenarioSettings
from everlearn.streams.scenarios.settings import ScenarioName
from everlearn.streams.source import Source
from everlearn.streams.stream import Stream

FIRST = 10
"""Objects in the first task."""


class ObjectSettings(ScenarioSettings):
    """Objects met in sessions: nc (ten objects, then five by five), nic (391 tasks) or ni (8 tasks)."""

    classes_per_task: Count = 5
    """new classes in every task after the first"""
    scenario: ScenarioName = "nc"
    """nc (new classes, more at first), nic (one session of one class at a time), ni (new instances), ..."""

    def arrange(self, source: Source) -> Scenario:
        """The order that these settings give to a source's pictures."""
        starts_larger = self.scenario in ("nc", "nic") and self.first_classes is None
        n_classes = self.n_classes or source.n_classes or FIRST
        if starts_larger and self.classes_per_task <= FIRST <= n_classes:
            return super(ObjectSettings, self.model_copy(update={"first_classes": FIRST})).arrange(source)
        return super().arrange(source)


class FilmedSettings(ObjectSettings):
    """Fifty shapes in eleven sessions each, eight to learn from and three to be tested on.

    A session has a background, a light and a smooth path of its own, and shows every shape in frames along
    the path: it turns by up to half a turn, grows and shrinks a little, and drifts about. So in a session
    nothing but its shape tells a thing from others. Pictures to choose settings with are a twelfth session.

    A twin of CORe50 (Lomonaco and Maltoni, 2017): scenario "nc" has 10 shapes and then 8 times 5, "nic" 391
    tasks, "ni" 8.

    Example:
        >>> stream = sprites_50(image_size=32, scenario="nic")
        >>> stream, stream.task(0).train.images.shape, stream.task(1).train.images.shape
        (<sprites-50/nic-v1: 391 tasks>, (250, 32, 32), (25, 32, 32))
    """

    kind = "sprites-50"

    n_classes: Count | None = None
    """shapes in all; 50 if not said"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    rgb: bool = False
    """colour pictures instead of gray ones"""
    frames: Annotated[int, Field(ge=2, le=100_000)] = 25
    """pictures in a session"""
    difficulty: Unit = 0.0
    """0: shapes as different as any; higher makes all shapes harder to tell apart"""
    texture: Unit = 0.1
    """strength of the pattern behind the shapes of a session"""
    lighting: Unit = 0.2
    """strength of the light that falls on a session from one side"""
    clutter: Annotated[int, Field(ge=0, le=32)] = 2
    """small things that lie about in a session"""

    def build(self) -> Stream:
        """The stream with these settings."""
        from everlearn.streams.arranged import ArrangedStream
        from everlearn.streams.filmed_source import FilmedSource

        return ArrangedStream(spec=self, scenario=self.arrange(FilmedSource(self)))


sprites_50 = builder(FilmedSettings)
