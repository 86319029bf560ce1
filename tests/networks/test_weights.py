from pathlib import Path

import pytest
import safetensors.torch
import torch

from everlearn.errors import BadInput
from everlearn.networks.vit import ViT
from everlearn.networks.weights import load_vit, save_weights

from .test_vit import TIMM_TINY


def saved(path: Path, **changes: torch.Tensor | None) -> str:
    tensors = ViT(image_size=16, depth=2, n_classes=3).state_dict() | {
        name.replace("__", "."): tensor for name, tensor in changes.items()
    }
    kept = {name: tensor.contiguous() for name, tensor in tensors.items() if tensor is not None}
    safetensors.torch.save_file(kept, path)
    return str(path)


def test_load_weights_of_timm(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    weights = {name: torch.randn(shape, generator=generator).half() for name, shape in TIMM_TINY.items()}
    safetensors.torch.save_file(weights, tmp_path / "tiny.safetensors")
    net = load_vit(str(tmp_path / "tiny.safetensors"))
    assert (net.image_size, net.n_channels, net.n_features, len(net.blocks)) == (224, 3, 192, 12)
    assert net.blocks[0].attn.n_heads == 3
    for name, tensor in net.state_dict().items():
        torch.testing.assert_close(tensor, weights[name].float(), rtol=0, atol=0)


def test_load_saved_weights(tmp_path: Path) -> None:
    net = ViT(image_size=32, n_channels=3, depth=1, n_hidden=100, n_classes=5)
    save_weights(net, tmp_path / "net.safetensors")
    other = load_vit(str(tmp_path / "net.safetensors"))
    for (name, ours), (same, theirs) in zip(
        net.state_dict().items(), other.state_dict().items(), strict=True
    ):
        assert name == same
        assert torch.equal(ours, theirs)


def test_load_weights_without_head(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.safetensors", head__weight=None, head__bias=None)
    assert isinstance(load_vit(path).head, torch.nn.Identity)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"blocks__1__ls1__gamma": torch.zeros(128)}, r"blocks\.1\.ls1\.gamma is \(128,\) and must be None"),
        ({"norm__weight": None}, r"norm\.weight is None and must be \(128,\)"),
        ({"norm__bias": torch.zeros(64)}, r"norm\.bias is \(64,\) and must be \(128,\)"),
        ({"pos_embed": torch.zeros(1, 4, 128)}, "pos_embed"),
        ({"pos_embed": torch.zeros(1, 1, 128)}, "0 patches"),
        ({"pos_embed": None}, "lacks patches, positions or blocks"),
        ({"patch_embed__proj__weight": torch.zeros(128, 2, 8, 8)}, "2 channels"),
        ({"patch_embed__proj__weight": torch.zeros(100, 1, 8, 8)}, "100 features"),
        ({"patch_embed__proj__weight": torch.zeros(128)}, "lacks patches"),
    ],
)
def test_another_network_is_refused(
    tmp_path: Path, changes: dict[str, torch.Tensor | None], reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        load_vit(saved(tmp_path / "net.safetensors", **changes))


@pytest.mark.parametrize("name", ["net.pt", "net.pth", "pytorch_model.bin"])
def test_pickled_files_are_refused(tmp_path: Path, name: str) -> None:
    torch.save({"cls_token": torch.zeros(1)}, tmp_path / name)
    with pytest.raises(BadInput, match=r"could run code .* safetensors\.torch\.save_file"):
        load_vit(str(tmp_path / name))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "net.safetensors").write_bytes(b"\x80\x04not weights")
    with pytest.raises(BadInput, match="not a safetensors file"):
        load_vit(str(tmp_path / "net.safetensors"))
    for path in (tmp_path / "missing.safetensors", tmp_path, Path("a\0b")):
        with pytest.raises(BadInput, match="there are no weights"):
            load_vit(str(path))
    with pytest.raises(BadInput, match=r"ends in \.safetensors"):
        save_weights(ViT(), tmp_path / "net.pt")


@pytest.mark.parametrize("name", ["", "vit", "../../etc/passwd", "a/b/c"])
def test_bad_hub_names_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match="not a name on the hub"):
        load_vit(f"hub:{name}")


def test_unreachable_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadInput, match="cannot be downloaded from the hub"):
        load_vit("hub:timm/vit_tiny_patch16_224.augreg_in21k")
