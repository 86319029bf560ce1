"""Image files made to harm, and images that are not."""

import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.studio import image_decoder as decoder_module
from everlearn.studio.image_decoder import Decoder
from everlearn.studio.image_decoder_child import LARGEST

MAX_SECONDS = 1.0
MAX_RISE = 100_000_000


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    made = Decoder()
    made.warm_up()
    yield made
    made.close()


def encoded(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: object) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, 1).save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, bits: int = 8, colour: int = 2) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")


def pixels(n_bytes: int) -> bytes:
    """So many zeros, packed as a bomb is."""
    return chunk(b"IDAT", zlib.compress(bytes(n_bytes), 9))


def many_scans() -> bytes:
    """A progressive JPEG that asks for its 16 million pixels to be gone over thousands of times."""
    whole = encoded("JPEG", (3900, 3900), "L", progressive=True, quality=1)
    at = whole.rindex(b"\xff\xda")
    return whole[:at] + whole[at:-2] * 20_000 + whole[-2:]


def hostile() -> dict[str, bytes]:
    good = {kind: encoded(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "PPM")}
    files = {
        f"cut {kind} at {cut}": data[:cut] for kind, data in good.items() for cut in (4, 12, len(data) // 2)
    }
    files |= {f"{kind} after rubbish": b"rubbish" + data for kind, data in good.items()}
    files |= {
        f"PNG of {width} x {height}": png(width, height, pixels(1000))
        for width, height in (
            (65535, 65535),
            (2**31 - 1, 1),
            (1, 2**31 - 1),
            (100_000, 100_000),
            (4001, 4000),
            (0, 0),
        )
    }
    files |= {
        "nothing": b"",
        "a letter": b"A",
        "words": b"hello, I am an image",
        "a page": b"<!doctype html><script>alert(1)</script>",
        "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        "svg that reads files": b'<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
        "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(%pipe%id) (w) file\n",
        "pdf": b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\n",
        "elf": b"\x7fELF" + bytes(100),
        "zip": b"PK\x03\x04" + bytes(100),
        "gzip": zlib.compress(bytes(10_000_000)),
        "tiff": encoded("TIFF"),
        "ico": encoded("ICO", (16, 16), "RGBA"),
        "a pickle": b"\x80\x04\x95\x1e\x00\x00\x00",
        "imagemagick": b"push graphic-context\nimage over 0,0 0,0 'https://127.0.0.1/x'\n",
        "zeros": bytes(9_000_000),
        "ones": b"\xff" * 9_000_000,
        "png without pixels": png(100, 100),
        "png with too few pixels": png(3000, 3000, pixels(10)),
        "png of 16 bits, cut": png(3900, 3900, pixels(10), bits=16, colour=0),
        "png with a bad checksum": encoded("PNG").replace(b"IDAT", b"IDAT\xff"),
        "png whose text is a bomb": png(
            8, 8, chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(80_000_000))), pixels(200)
        ),
        "png whose words are a bomb": png(
            8, 8, chunk(b"iTXt", b"x\0\1\0\0\0" + zlib.compress(bytes(80_000_000))), pixels(200)
        ),
        "jpeg of many scans": many_scans(),
        "jpeg of 65500 squared": encoded("JPEG", (16, 16)).replace(
            b"\x00\x10\x00\x10\x03", b"\xff\xdc\xff\xdc\x03"
        ),
        "gif of 65535 squared": b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\x80\0\0" + bytes(6) + b",",
        "bmp of two billion": b"BM"
        + struct.pack("<IHHIIiiHHIIiiII", 0, 0, 0, 54, 40, 2**31 - 1, 9, 1, 24, 0, 0, 0, 0, 0, 0),
        "ppm of a million squared": b"P6 1000000 1000000 255\n",
        "ppm of endless digits": b"P6 " + b"9" * 100_000,
        "ppm that is negative": b"P6 -1 -1 255\n",
    }
    return files


FILES = hostile()


def test_there_are_sixty() -> None:
    assert len(FILES) >= 60


def highest(process: int) -> int:
    """The most memory that a process ever had in use."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_hostile_files_are_refused_quickly_and_cheaply(decoder: Decoder) -> None:
    """Each in a second of the child's processor time and 100 MB; the child may die, never the server."""
    decoder.close()
    fresh: dict[int, int] = {}
    for name, content in FILES.items():
        decoder.warm_up()
        child = psutil.Process(decoder.process)
        before = fresh.setdefault(child.pid, child.memory_info().rss)
        began = child.cpu_times()
        with pytest.raises(BadInput) as refused:
            decoder.open(content)
        assert len(str(refused.value)) < 400, name
        if decoder.process == child.pid:
            spent = child.cpu_times()
            assert spent.user + spent.system - began.user - began.system < MAX_SECONDS, name
            assert highest(child.pid) - before < MAX_RISE, name


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "WEBP", "PPM"])
@pytest.mark.parametrize("size", [(1, 1), (40, 30), (3000, 2000)])
def test_images_are_opened(decoder: Decoder, kind: str, size: tuple[int, int]) -> None:
    with Image.open(io.BytesIO(decoder.open(encoded(kind, size)))) as small:
        assert small.format == "PNG"
        assert max(small.size) <= LARGEST
        assert abs(small.width / small.height - size[0] / size[1]) < 0.01 * size[0] / size[1]


def test_nothing_but_pixels_comes_through(decoder: Decoder) -> None:
    """Notes, places and profiles stay behind, and so does what hides after the image."""
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    content = encoded("JPEG", exif=exif, comment=b"a secret word") + b"<script>a secret end</script>"
    assert b"secret" in content
    assert b"secret" not in decoder.open(content)


def test_the_first_image_of_ten_thousand_is_enough(decoder: Decoder) -> None:
    frame = encoded("GIF", (8, 8), "L")
    body = frame[frame.index(b",") : -1]
    frames = frame[: frame.index(b",")] + body * 10_000 + b";"
    assert decoder.open(frames)


def test_a_child_that_was_killed_is_replaced(decoder: Decoder) -> None:
    first = decoder.process
    killed = psutil.Process(first)
    killed.kill()
    while killed.status() != psutil.STATUS_ZOMBIE:
        pass
    assert decoder.open(encoded("PNG"))
    assert decoder.process != first


def test_the_child_ends_with_its_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "everlearn.studio.image_decoder_child"], input=b"", capture_output=True
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_the_pixels_are_the_images(decoder: Decoder) -> None:
    image = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(30, 40, 3)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    with Image.open(io.BytesIO(decoder.open(file.getvalue()))) as small:
        assert np.array_equal(np.asarray(small)[..., :3], image)


def test_whoever_gave_the_file_need_not_wait_for_the_next_child(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that died is replaced at once, by one that may still be asleep when the refusal is told."""
    decoder.warm_up()
    waited: list[float] = []
    asked = decoder_module._asked

    def watched(child: subprocess.Popen[bytes], content: bytes, patience: float) -> bytes:
        waited.append(patience)
        return asked(child, content, patience)

    monkeypatch.setattr(decoder_module, "_asked", watched)
    with pytest.raises(BadInput, match="made to harm"):
        decoder.open(FILES["jpeg of many scans"])
    assert waited == [decoder_module.PATIENCE]
    assert decoder.open(encoded("PNG"))
    assert waited == [decoder_module.PATIENCE, decoder_module.START, decoder_module.PATIENCE]
