"""`everlearn teach`, `ask`, `forget`, `rename` and `list` on a memory; what they refuse."""

import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.recognition.things import photo, thing

from .outcomes import SMALL, Run, assert_refused, tree


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of images, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(["mug", "key"]):
        thing(number).save(f"{name}.png")
        Image.fromarray(photo(number, angle=80)).save(f"{name}-again.jpg", quality=95)
    return tmp_path


def teach(run: Run, *words: str) -> dict:
    return run("teach", "memory", *words, "--features", "gradients", "--json").data


def test_what_is_taught_is_recognised(run: Run, images: Path) -> None:
    assert teach(run, "mug.png", "key.png")["classes"] == ["key", "mug"]
    answers = run("ask", "memory", "mug-again.jpg", "key-again.jpg", "--json").data["answers"]
    assert [each["best"] for each in answers] == ["mug", "key"]
    assert {each["status"] for each in answers} <= {"known", "probably", "unknown"}
    assert "mug-again.jpg" in run("ask", "memory", "mug-again.jpg").out


def test_names_are_given_renamed_listed_and_forgotten(run: Run, images: Path) -> None:
    teach(run, "mug.png", "mug-again.jpg", "--name", "blue mug")
    assert run("list", "memory", "--json").data["classes"] == [{"name": "blue mug", "images": 2}]
    assert run("rename", "memory", "blue mug", "cup").code == 0
    assert run("forget", "memory", "cup", "--json").data["classes"] == []
    assert "knows nothing yet" in run("list", "memory").out
    assert run("ask", "memory", "mug.png", "--json").data["answers"][0]["name"] is None


def test_folders_name_their_images_and_what_is_stored_is_shown(run: Run, images: Path) -> None:
    (images / "cup").mkdir()
    for name in ("mug.png", "mug-again.jpg"):
        (images / name).rename(images / "cup" / name)
    data = teach(run, "cup", "--stored", "stored.png")
    assert data["classes"] == ["cup"]
    assert np.asarray(Image.open("stored.png")).std() > 10


def test_at_most_k_images_of_a_thing_are_kept(run: Run, images: Path) -> None:
    taught = teach(
        run, "mug.png", "mug-again.jpg", "key.png", "--name", "mug", "--keep", "2", "--policy", "herding"
    )
    assert taught["kept"] == {"keep": 2, "policy": "herding", "combine": "vote"}
    assert run("list", "memory", "--json").data["classes"] == [{"name": "mug", "images": 2}]
    assert teach(run, "key-again.jpg", "--combine", "best")["kept"]["keep"] == 2
    done = run("teach", "memory", "key.png", "--keep", "0")
    assert (done.code, "keep is 0; it must be between 1 and" in done.err) == (2, True)


def test_a_memory_is_made_with_the_weights_of_a_pretrained_backbone(run: Run, images: Path) -> None:
    pretrained = ("--backbone", "pooled", "--epochs", "1", "--out", "net.safetensors")
    assert run("pretrain", "--stream", "sprites", *SMALL, *pretrained).code == 0
    words = ("teach", "memory", "mug.png", "key.png", "--weights", "net.safetensors", "--json")
    assert run(*words).data["features"] == "pooled"
    Path("net.safetensors").unlink()
    assert run("ask", "memory", "mug.png", "--json").data["answers"][0]["best"] == "mug"
    done = run("teach", "other", "mug.png", "--weights", "net.safetensors")
    assert (done.code, "is no .safetensors file of weights" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("teach", "memory"), "no images are given"),
        (("teach", "memory", "missing.png"), "there is no image 'missing.png'"),
        (("teach", "memory", "notes.txt"), "is not an image that can be decoded"),
        (("teach", "memory", "empty.png"), "is not an image that can be decoded"),
        (("teach", "memory", "no-images"), "has no images"),
        (("teach", "memory", "mug.png", "--name", " "), "is no valid class name"),
        (("ask", "memory"), "no images are given"),
        (("ask", "nowhere", "mug.png"), "there is no memory in 'nowhere'"),
        (("forget", "nowhere", "mug"), "there is no memory in 'nowhere'"),
        (("teach", "memory", "mug.png", "--stored", "a.txt"), "a.txt"),
        (("teach", "memory", "mug.png", "--keep", "1.5"), "--keep is '1.5'; it must be a whole number"),
    ],
)
def test_one_sentence_for_invalid_input(
    run: Run, images: Path, words: tuple[str, ...], sentence: str
) -> None:
    Path("notes.txt").write_text("a note")
    Path("empty.png").write_bytes(b"")
    Path("no-images").mkdir()
    done = run(*words)
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err


def png_of(width: int, height: int) -> bytes:
    """A PNG file that claims a size, and has less data."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    parts = [struct.pack(">I", len(data)) + kind + data for kind, data in chunks]
    sums = [struct.pack(">I", zlib.crc32(part[4:])) for part in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(part + end for part, end in zip(parts, sums, strict=True))


@pytest.fixture
def bad(run: Run, images: Path) -> dict[str, str]:
    """Files that cannot be taught, and a memory that knows a mug; gives its content."""
    teach(run, "mug.png")
    whole = Path("key.png").read_bytes()
    video = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(range(256))
    contents = dict.fromkeys(("notes.txt", "notes.png"), b"a note")
    contents |= {
        "empty.png": b"",
        "cut.png": whole[: len(whole) // 2],
        "video.mp4": video,
        "video.png": video,
    }
    contents |= {"bomb.png": png_of(60_000, 60_000), "large.png": png_of(20_000, 20_000)}
    for name, content in contents.items():
        Path(name).write_bytes(content)
    Image.new("RGB", (1, 1), "red").save("dot.png")
    Image.new("RGBA", (40, 40)).save("clear.png")
    Path("no-images").mkdir()
    for parent in ("first", "second"):
        Path(parent, "cup").mkdir(parents=True)
        thing(3 + (parent == "second")).save(Path(parent, "cup", "1.png"))
        thing(3 + (parent == "second")).save(Path(parent, "vase.png"))
    return content_of(Path("memory"))


def content_of(folder: Path) -> dict[str, str]:
    """The content of a memory; its lock file says which process opened it last."""
    return {name: found for name, found in tree(folder).items() if not name.endswith(".lock")}


NOT_DECODED, TOO_LARGE = "is not an image that can be decoded", "has more pixels than"
REFUSED = {
    "notes.txt": NOT_DECODED, "notes.png": NOT_DECODED, "empty.png": NOT_DECODED, "video.mp4": NOT_DECODED,
    "video.png": NOT_DECODED, "cut.png": NOT_DECODED, "bomb.png": TOO_LARGE, "large.png": TOO_LARGE,
    "clear.png": "clear.png is empty; give one that shows something", "no-images": "has no images",
}  # fmt: skip


@pytest.mark.parametrize("file", REFUSED)
def test_bad_images_are_refused_in_one_sentence_and_nothing_is_stored(
    run: Run, bad: dict[str, str], file: str
) -> None:
    for words in (
        ("teach", "memory", file),
        ("teach", "memory", "key.png", file),  # the first one is not stored either
        ("ask", "memory", file),
        ("ask", "memory", "key.png", file, "--keep-unknown"),
    ):
        done = run(*words)
        assert_refused(done)
        assert REFUSED[file] in done.err
        assert content_of(Path("memory")) == bad
    assert_refused(run("teach", "new-memory", file))
    assert not Path("new-memory").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("dot.png",), "dot.png is 1 x 1 pixels; give one of at least 8 pixels to be taught"),
        (("mug.png", "--name", "cup"), "has been taught as 'mug'"),
        (("key.png", "mug.png", "--name", "cup"), "has been taught as 'mug'"),
        (("key.png", "same-key.png"), "the same image is given as 'key' and as 'same-key'"),
        (("first/cup", "second/cup"), "would both be taught as 'cup'"),
        (("first/vase.png", "second/vase.png"), "would both be taught as 'vase'"),
    ],
)
def test_ambiguous_names_are_refused_and_nothing_is_stored(
    run: Run, bad: dict[str, str], words: tuple[str, ...], sentence: str
) -> None:
    shutil.copy("key.png", "same-key.png")
    done = run("teach", "memory", *words)
    assert_refused(done)
    assert sentence in done.err
    assert content_of(Path("memory")) == bad


def test_one_image_under_two_names_makes_no_memory(run: Run, images: Path) -> None:
    shutil.copy("key.png", "same-key.png")
    assert_refused(run("teach", "new-memory", "key.png", "same-key.png"))
    assert not Path("new-memory").exists()


def test_two_classes_cannot_get_one_name(run: Run, bad: dict[str, str]) -> None:
    teach(run, "key.png")
    before = content_of(Path("memory"))
    assert_refused(run("rename", "memory", "key", "mug"))
    assert content_of(Path("memory")) == before


def save_odd(folder: Path) -> list[str]:
    """The mug as an animation, with 16 bits, in CMYK and in a long image."""
    mug = Image.fromarray(photo(0, angle=80))
    other = Image.fromarray(photo(0, angle=20))
    mug.save(folder / "moves.gif", save_all=True, append_images=[other])
    mug.save(folder / "moves.webp", save_all=True, append_images=[other], lossless=True)
    mug.convert("CMYK").save(folder / "cmyk.jpg", quality=95)
    gray = np.asarray(mug.convert("L")).astype(np.uint16)
    Image.fromarray(gray * 257).save(folder / "deep.png")
    wide = Image.new("RGB", (20_000, 200), "white")
    wide.paste(mug.resize((200, 200)))
    wide.save(folder / "wide.png")
    return ["moves.gif", "moves.webp", "cmyk.jpg", "deep.png", "wide.png"]


def test_unusual_images_are_taught_and_asked(run: Run, images: Path) -> None:
    """The first frame of an animation, and 16 bits or four channels as eight bits of red, green and blue."""
    teach(run, "mug.png", "key.png")
    files = save_odd(images)
    best = [each["best"] for each in run("ask", "memory", *files, "--json").data["answers"]]
    assert best[:3] == ["mug"] * 3
    taught = run("teach", "memory", *files, "--name", "odd", "--json").data
    assert taught["classes"] == ["key", "mug", "odd"]
