"""`everlearn teach`, `ask`, `forget`, `rename` and `list` on a memory; what they refuse."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.recognition.things import photo, thing

from .outcomes import SMALL, Run


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
