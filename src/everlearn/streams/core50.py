"""CORe50: fifty things held in front of a camera, in eleven sessions each."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from everlearn.chance import draws
from everlearn.streams.choices import ImageSize
from everlearn.streams.filmed import ObjectSettings
from everlearn.streams.kinds import builder
from everlearn.streams.stream import Stream


class Core50Settings(ObjectSettings):
    """CORe50 (Lomonaco and Maltoni, 2017): 50 objects, 8 sessions to learn from, 3 to be tested on.

    The pictures lie as the data set is given out: s1/o1/C_01_01_000.png for the first frame of object 1 in
    session 1, and so on; sessions 3, 7 and 10 are for the test. A smaller tree of the same layout is fine as
    long as every object is in every session that there is. The order of the objects follows from the seed.

    Example:
        >>> Core50Settings(data="core50_128x128", scenario="nic").to_mapping()["stream"]
        'core50'
    """

    kind = "core50"

    data: Path | None = None
    """the folder with s1 to s11, or one that holds core50_128x128; what EVERLEARN_DATA names if not said"""
    image_size: ImageSize = 128
    """height and width in pixels, 16 to 512"""
    rgb: bool = True
    """colour pictures instead of gray ones"""
    every: Annotated[int, Field(ge=1, le=1000)] = 1
    """take only every so many-th frame of a session"""

    def build(self) -> Stream:
        """The stream with these settings."""
        from everlearn.streams.arranged import ArrangedStream
        from everlearn.streams.pictures.core50 import open_core50
        from everlearn.streams.pictures.sessions import FilmedPictures
        from everlearn.streams.pictures.source import Canvas

        canvas = Canvas(image_size=self.image_size, drawn_size=self.image_size, rgb=self.rgb)
        frames = open_core50(self.data, drawn_size=self.image_size, rgb=self.rgb, every=self.every)
        order = draws(self.seed, "class order").permutation(frames.n_classes)
        source = FilmedPictures(collection=frames.reordered(order), canvas=canvas, seed=self.seed)
        return ArrangedStream(spec=self, scenario=self.arrange(source))


core50 = builder(Core50Settings)
