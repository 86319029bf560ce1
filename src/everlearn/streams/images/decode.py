"""Decoding of image files, within limits that are checked before decoding."""

import io

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from everlearn.errors import BadInput

Pixels = npt.NDArray[np.uint8]

# Only these decoders are allowed: no vector graphics, no formats that run other programs.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "PPM")
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".pgm", ".ppm", ".pbm")
MAX_FILE_BYTES = 2**26
MAX_PIXELS = 2**26

OPAQUE = 255
WITH_ALPHA = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")  # modes that Pillow converts to RGBA directly


def decode(content: bytes, name: str) -> Pixels:
    """The first frame of an image, upright, as RGBA (H, W, 4); error messages name the file."""
    if len(content) > MAX_FILE_BYTES:
        raise BadInput(f"{name} has {len(content)} bytes; an image may have at most {MAX_FILE_BYTES}")
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            width, height = image.size
            if width * height <= MAX_PIXELS:
                return rgba_of(image)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        pass  # Pillow's limit is above ours; the error below is for both.
    except Exception as error:  # decoders raise many types of errors for damaged files
        is_other = isinstance(error, UnidentifiedImageError)
        reason = f"it is none of {', '.join(FORMATS)}" if is_other else error
        raise BadInput(
            f"{name} is not an image that can be decoded ({reason}); replace or remove it"
        ) from None
    raise BadInput(f"{name} has more pixels than the {MAX_PIXELS} an image may have; shrink or remove it")


def rgba_of(image: Image.Image) -> Pixels:
    """The first frame of an image, upright, as RGBA (H, W, 4)."""
    if image.mode.startswith("I"):  # 16 bits; Pillow would clip them instead of scaling
        deep = np.asarray(image).astype(np.int64)
        gray = np.clip((deep + 128) // 257, 0, 255).astype(np.uint8)
        return np.dstack([gray, gray, gray, np.full_like(gray, OPAQUE)])
    upright = ImageOps.exif_transpose(image)
    if upright.mode not in WITH_ALPHA:
        upright = upright.convert("RGB")
    return np.array(upright.convert("RGBA"))


def fitted(
    rgba: Pixels, shape: tuple[int, ...], resampling: Image.Resampling = Image.Resampling.BICUBIC
) -> Pixels:
    """An image on black, fitted into (H, W) gray or (H, W, 3) colour with its aspect ratio kept."""
    image = Image.fromarray(rgba)
    black = Image.new("RGBA", image.size, (0, 0, 0, OPAQUE))
    flat = Image.alpha_composite(black, image).convert("RGB" if len(shape) == 3 else "L")
    return np.array(ImageOps.pad(flat, (shape[1], shape[0]), resampling), np.uint8)


def premultiplied(rgba: Pixels) -> Pixels:
    """Colours multiplied by alpha, so that averages ignore the colours of transparent pixels."""
    wide = rgba.astype(np.uint16)
    wide[..., :3] = (wide[..., :3] * wide[..., 3:] + 127) // 255
    return wide.astype(np.uint8)


def gray(rgba: Pixels) -> Pixels:
    """Luminance (ITU-R 601, in integers) and alpha, (H, W, 2)."""
    wide = rgba.astype(np.uint32)
    luminance = (wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + 2**15) >> 16
    return np.stack([luminance.astype(np.uint8), rgba[..., 3]], axis=-1)


def reduced(pixels: Pixels, side: int) -> Pixels:
    """The image averaged over blocks so that its longer side is below twice `side`.

    The edge is repeated to complete the last block.
    """
    factor = max(pixels.shape[:2]) // side
    if factor < 2:
        return pixels
    height, width, channels = pixels.shape
    pad = [(0, -height % factor), (0, -width % factor), (0, 0)]
    blocks = np.pad(pixels, pad, mode="edge").reshape(
        -(-height // factor), factor, -(-width // factor), factor, channels
    )
    total = blocks.sum(axis=(1, 3), dtype=np.uint32)
    return np.asarray((total + factor * factor // 2) // (factor * factor), dtype=np.uint8)
