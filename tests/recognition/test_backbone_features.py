"""A memory is opened with any backbone and a file of weights, of which it keeps a copy."""

import subprocess
import sys

import numpy as np
import pytest

from everlearn import Recogniser
from everlearn.errors import BadInput
from everlearn.networks import make_backbone
from everlearn.networks.vit import ViT
from everlearn.networks.weights import save_weights
from everlearn.recognition.features import make_features
from tests.recognition.things import photo, thing


@pytest.fixture(params=[(32, 32), (32, 32, 3)])
def weights(tmp_path, request):
    """A file of weights with the name of their network."""
    path = tmp_path / "weights.safetensors"
    net = make_backbone("pooled", request.param, seed=3)
    save_weights(net, path, backbone="pooled", image_shape=request.param)
    return path


def test_a_file_says_which_network_it_is_of(weights):
    features = make_features("auto", weights)
    assert (features.name, features.size, features.widths) == ("pooled", 32, (128,))
    images = np.random.default_rng(0).integers(0, 255, (3, 32, 32, 3)).astype(np.uint8)
    found = features.describe(images, np.ones((3, 8, 8), np.float32))
    assert found.shape == (3, 128)
    np.testing.assert_allclose(
        features.describe(images[1:2], np.ones((1, 8, 8), np.float32))[0], found[1], atol=1e-4
    )


def test_a_memory_keeps_a_copy_of_its_weights(weights, tmp_path):
    with Recogniser.open(tmp_path / "memory", weights=weights) as memory:
        for number in range(3):
            memory.teach(thing(number), f"thing {number}")
        expected = memory.ask(photo(1, angle=40))[0]
        assert expected.best == "thing 1"
    weights.unlink()
    memory.folder.rename(tmp_path / "moved")
    with Recogniser(tmp_path / "moved") as again:
        assert again.ask(photo(1, angle=40))[0].scores == pytest.approx(expected.scores, abs=1e-5)
        again.ask_and_keep(photo(7))  # groups of unknown images have the same features


def test_a_vision_transformer_is_found_by_its_names(tmp_path):
    save_weights(ViT(image_size=32, n_channels=3, depth=1), tmp_path / "vit.safetensors")
    features = make_features("auto", tmp_path / "vit.safetensors")
    shape = features.describe(np.zeros((2, 128, 128, 3), np.uint8), np.ones((2, 8, 8), np.float32)).shape
    assert (features.name, shape) == ("vit", (2, 128))


def test_another_name_than_that_of_the_file_is_refused(weights, tmp_path):
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")
    for name, path, sentence in (
        ("small", weights, "has the weights of another network"),
        ("gradients", weights, "gradients have no weights"),
        ("nothing", weights, "unknown backbone 'nothing'"),
        ("auto", tmp_path / "broken.safetensors", "is no .safetensors file of weights"),
        ("auto", tmp_path / "missing.safetensors", "is no .safetensors file of weights"),
    ):
        with pytest.raises(BadInput, match=sentence):
            make_features(name, path)


def test_torch_is_imported_only_with_weights():
    code = (
        "import sys; from everlearn.recognition.features import make_features; make_features('gradients'); "
    )
    code += "from everlearn import Recogniser; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
