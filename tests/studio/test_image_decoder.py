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
from everlearn.studio import image_decoder
from everlearn.studio.image_decoder import DECODE_TIMEOUT, START_TIMEOUT, ImageDecoder
from everlearn.studio.image_decoder_child import MAX_SIDE

from .live_server import wait_until

MAX_CPU_SECONDS = 1.0
MAX_MEMORY_INCREASE = 100_000_000


@pytest.fixture(scope="module")
def decoder() -> Iterator[ImageDecoder]:
    decoder = ImageDecoder()
    yield decoder
    decoder.close()


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
    """A chunk of zeros with high compression."""
    return chunk(b"IDAT", zlib.compress(bytes(n_bytes), 9))


def many_scans() -> bytes:
    """A progressive JPEG of 16 million pixels with thousands of scans."""
    whole = encoded("JPEG", (3900, 3900), "L", progressive=True, quality=1)
    scan = whole.rindex(b"\xff\xda")
    return whole[:scan] + whole[scan:-2] * 20_000 + whole[-2:]


def malicious_files() -> dict[str, bytes]:
    good = {kind: encoded(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "PPM")}
    files = {
        f"{kind} truncated to {n_bytes}": data[:n_bytes]
        for kind, data in good.items()
        for n_bytes in (4, 12, len(data) // 2)
    }
    files |= {f"{kind} after other bytes": b"other bytes" + data for kind, data in good.items()}
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
        "empty": b"",
        "one byte": b"A",
        "text": b"hello, I am an image",
        "html": b"<!doctype html><script>alert(1)</script>",
        "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        "svg with an external entity": b'<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
        "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(%pipe%id) (w) file\n",
        "pdf": b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\n",
        "elf": b"\x7fELF" + bytes(100),
        "zip": b"PK\x03\x04" + bytes(100),
        "gzip": zlib.compress(bytes(10_000_000)),
        "tiff": encoded("TIFF"),
        "ico": encoded("ICO", (16, 16), "RGBA"),
        "pickle": b"\x80\x04\x95\x1e\x00\x00\x00",
        "imagemagick": b"push graphic-context\nimage over 0,0 0,0 'https://127.0.0.1/x'\n",
        "zeros": bytes(9_000_000),
        "ones": b"\xff" * 9_000_000,
        "png without pixels": png(100, 100),
        "png with too few pixels": png(3000, 3000, pixels(10)),
        "png of 16 bits, truncated": png(3900, 3900, pixels(10), bits=16, colour=0),
        "png with a bad checksum": encoded("PNG").replace(b"IDAT", b"IDAT\xff"),
        "png with a bomb in zTXt": png(
            8, 8, chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(80_000_000))), pixels(200)
        ),
        "png with a bomb in iTXt": png(
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
        "ppm of many digits": b"P6 " + b"9" * 100_000,
        "ppm of negative size": b"P6 -1 -1 255\n",
    }
    return files


def peak_memory(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_malicious_files_are_rejected_within_limits(decoder: ImageDecoder) -> None:
    """Within a second of CPU time and 100 MB of the child, which may be killed."""
    decoder.close()
    initial: dict[int, int] = {}
    for name, content in malicious_files().items():
        decoder.warm_up()
        child = psutil.Process(decoder.pid)
        memory = initial.setdefault(child.pid, child.memory_info().rss)
        before = child.cpu_times()
        with pytest.raises(BadInput) as error:
            decoder.decode(content)
        assert len(str(error.value)) < 400, name
        if decoder.pid == child.pid:
            after = child.cpu_times()
            assert after.user + after.system - before.user - before.system < MAX_CPU_SECONDS, name
            assert peak_memory(child.pid) - memory < MAX_MEMORY_INCREASE, name


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "WEBP", "PPM"])
@pytest.mark.parametrize("size", [(1, 1), (40, 30), (3000, 2000)])
def test_images_are_decoded(decoder: ImageDecoder, kind: str, size: tuple[int, int]) -> None:
    with Image.open(io.BytesIO(decoder.decode(encoded(kind, size)))) as small:
        assert small.format == "PNG"
        assert max(small.size) <= MAX_SIDE
        assert small.width / small.height == pytest.approx(size[0] / size[1], rel=0.01)


def test_pixels_are_unchanged(decoder: ImageDecoder) -> None:
    image = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(30, 40, 3)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    with Image.open(io.BytesIO(decoder.decode(file.getvalue()))) as small:
        assert np.array_equal(np.asarray(small)[..., :3], image)


def test_metadata_is_removed(decoder: ImageDecoder) -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    content = encoded("JPEG", exif=exif, comment=b"a secret word") + b"<script>a secret end</script>"
    assert b"secret" in content
    assert b"secret" not in decoder.decode(content)


def test_an_animation_of_10_000_frames_is_decoded(decoder: ImageDecoder) -> None:
    frame = encoded("GIF", (8, 8), "L")
    start = frame.index(b",")
    assert decoder.decode(frame[:start] + frame[start:-1] * 10_000 + b";")


def test_a_killed_child_is_replaced(decoder: ImageDecoder) -> None:
    decoder.warm_up()
    child = psutil.Process(decoder.pid)
    child.kill()
    wait_until(lambda: child.status() == psutil.STATUS_ZOMBIE)
    assert decoder.decode(encoded("PNG"))
    assert decoder.pid != child.pid


def test_the_child_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "everlearn.studio.image_decoder_child"]
    done = subprocess.run(command, input=b"", capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_rejection_does_not_wait_for_the_next_child(
    decoder: ImageDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder.warm_up()
    timeouts: list[float] = []
    request = image_decoder._request

    def logged_request(child: subprocess.Popen[bytes], content: bytes, timeout: float) -> bytes:
        timeouts.append(timeout)
        return request(child, content, timeout)

    monkeypatch.setattr(image_decoder, "_request", logged_request)
    with pytest.raises(BadInput, match="too much time"):
        decoder.decode(many_scans())
    assert timeouts == [DECODE_TIMEOUT]
    assert decoder.decode(encoded("PNG"))
    assert timeouts == [DECODE_TIMEOUT, START_TIMEOUT, DECODE_TIMEOUT]
