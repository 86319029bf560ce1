"""Any shape under any factors, and the line of code that draws it."""

from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.shapes import ShapeFamily
from everlearn.streams.settings import ImageSize, Unit
from everlearn.streams.stream import Images

WHITE = "#ffffff"
LAST = 2**53 - 1
"""The largest whole number that a browser counts to exactly."""
SHEET = 64
COLUMNS = 8
TILE = 64

Number = Annotated[int, Field(ge=0, le=LAST)]


class Sprite(BaseModel):
    """One image: which shape, in which pose and colour, how hard to read.

    Example:
        >>> Sprite(shape=7, angle=1.5).code()
        'render(ShapeFamily().outline(7), Factors(angle=1.5), image_size=256)'
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    shape: Number = 0
    seed: Number = 0
    difficulty: Unit = 0.0
    scale: Annotated[float, Field(ge=0.05, le=2)] = 1.0
    angle: Annotated[float, Field(ge=-100, le=100)] = 0.0
    x: Unit = 0.5
    y: Unit = 0.5
    colour: Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")] = WHITE
    marker: bool = True
    noise: Unit = 0.0
    blur: Annotated[float, Field(ge=0, le=16)] = 0.0
    occluder: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    clutter: Annotated[int, Field(ge=0, le=32)] = 0
    lighting: Unit = 0.0
    texture: Unit = 0.0
    image_size: ImageSize = 256

    def image(self) -> Images:
        """The image itself."""
        image: Images = self._drawn([self.shape], self.image_size)[0]
        return image

    def sheet(self) -> Images:
        """This shape and the next ones of its family in the same pose, (64, H, W[, 3])."""
        first = min(self.shape, LAST - SHEET)
        return self._drawn(list(range(first, first + SHEET)), TILE)

    def code(self) -> str:
        """The line that draws the image."""
        family = _call("ShapeFamily", self._family())
        parts = [f"{family}.outline({self.shape})", _call("Factors", self._factors())]
        options: dict[str, Any] = {"image_size": self.image_size, **self._options()}
        parts += [f"{name}={value!r}" for name, value in options.items()]
        parts += [f"nuisances={_call('Nuisances', self._nuisances())}"] if self._nuisances() else []
        return f"render({', '.join(parts)})"

    def imports(self) -> str:
        """What the line needs."""
        lines = [
            "from everlearn.factors import Factors",
            "from everlearn.rendering import " + ("Nuisances, render" if self._nuisances() else "render"),
            "from everlearn.shapes import ShapeFamily",
        ]
        return "\n".join(lines)

    def _drawn(self, shapes: list[int], image_size: int) -> Images:
        images: Images = render(
            ShapeFamily(**self._family()).outlines(np.array(shapes)),
            Factors(**self._factors()),
            image_size=image_size,
            nuisances=Nuisances(**self._nuisances()),
            **self._options(),
        )
        return images

    def _family(self) -> dict[str, Any]:
        return self._changed("seed", "difficulty")

    def _nuisances(self) -> dict[str, Any]:
        return self._changed("noise", "blur", "occluder", "clutter", "lighting", "texture")

    def _options(self) -> dict[str, Any]:
        """Options of the renderer that differ from its own defaults."""
        rgb = {} if self.colour.lower() == WHITE else {"rgb": True}
        return {**rgb, **self._changed("marker")}

    def _factors(self) -> dict[str, Any]:
        pose = self._changed("scale", "angle", "x", "y")
        if self.colour.lower() == WHITE:
            return pose
        return {**pose, "colour": tuple(round(level / 255, 4) for level in bytes.fromhex(self.colour[1:]))}

    def _changed(self, *names: str) -> dict[str, Any]:
        """Those of some settings that are not as they are by default."""
        fields = type(self).model_fields
        return {name: getattr(self, name) for name in names if getattr(self, name) != fields[name].default}


def _call(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
