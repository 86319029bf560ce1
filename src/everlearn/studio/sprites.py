"""Images of any shape under any factors, and the Python code that renders them."""

from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.shapes import ShapeFamily
from everlearn.streams.settings import ImageSize, Unit
from everlearn.streams.stream import Images

WHITE = "#ffffff"
MAX_INTEGER = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""
SHEET_SHAPES, SHEET_COLUMNS, SHEET_IMAGE_SIZE = 64, 8, 64

Index = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


class Sprite(BaseModel):
    """One image: a shape, its factors and its nuisances.

    Example:
        >>> Sprite(shape=7, angle=1.5).code()
        'render(ShapeFamily().outline(7), Factors(angle=1.5), image_size=256)'
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    shape: Index = 0
    seed: Index = 0
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
        """The rendered image."""
        return self._render([self.shape], self.image_size)[0]

    def sheet(self) -> Images:
        """This shape and the next ones of its family under the same factors, (64, H, W[, 3])."""
        first = min(self.shape, MAX_INTEGER - SHEET_SHAPES)
        return self._render(list(range(first, first + SHEET_SHAPES)), SHEET_IMAGE_SIZE)

    def code(self) -> str:
        """The expression that renders the image."""
        outline = f"{_call('ShapeFamily', self._family())}.outline({self.shape})"
        arguments = [outline, _call("Factors", self._factors()), f"image_size={self.image_size!r}"]
        arguments += [f"{name}={value!r}" for name, value in self._options().items()]
        if nuisances := self._nuisances():
            arguments.append(f"nuisances={_call('Nuisances', nuisances)}")
        return f"render({', '.join(arguments)})"

    def imports(self) -> str:
        """The imports of that expression."""
        lines = [
            "from everlearn.factors import Factors",
            "from everlearn.rendering import " + ("Nuisances, render" if self._nuisances() else "render"),
            "from everlearn.shapes import ShapeFamily",
        ]
        return "\n".join(lines)

    def _render(self, shapes: list[int], image_size: int) -> Images:
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

    def _factors(self) -> dict[str, Any]:
        pose = self._changed("scale", "angle", "x", "y")
        if self._is_gray:
            return pose
        return {**pose, "colour": tuple(round(level / 255, 4) for level in bytes.fromhex(self.colour[1:]))}

    def _nuisances(self) -> dict[str, Any]:
        return self._changed("noise", "blur", "occluder", "clutter", "lighting", "texture")

    def _options(self) -> dict[str, Any]:
        return {**({} if self._is_gray else {"rgb": True}), **self._changed("marker")}

    @property
    def _is_gray(self) -> bool:
        return self.colour.lower() == WHITE

    def _changed(self, *names: str) -> dict[str, Any]:
        """The values that differ from their defaults."""
        fields = type(self).model_fields
        return {name: getattr(self, name) for name in names if getattr(self, name) != fields[name].default}


def _call(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
