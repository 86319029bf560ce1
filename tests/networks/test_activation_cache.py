"""Outputs of frozen layers come from the disk and are the same as if they were computed."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.networks.activation_cache import ENTRY_BYTES, CachedLayers, CachedRows, cache_folder
from everlearn.networks.tensors import seeded, to_tensor

IMAGES = np.random.default_rng(0).integers(0, 256, (40, 8, 8)).astype(np.uint8)
KEYS = [f"{number:016}".encode() for number in range(9)]
ROW = np.arange(4, dtype=np.float16)


class Counted(nn.Sequential):
    """A layer that counts its images."""

    n_images = 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.n_images += len(images)
        return super().forward(images)


def layers(seed: int = 0) -> Counted:
    with seeded(seed):
        return Counted(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3))


def test_outputs_are_those_of_the_layers_rounded_to_half_precision(tmp_path: Path) -> None:
    net = layers()
    expected = net.eval()(to_tensor(IMAGES)).detach().half().float()
    torch.testing.assert_close(CachedLayers(net, (8, 8), tmp_path)(IMAGES), expected, atol=1e-3, rtol=1e-3)


def test_an_image_is_computed_once_in_any_order_also_by_another_process(tmp_path: Path) -> None:
    first = CachedLayers(layers(), (8, 8), tmp_path)(IMAGES)
    net = layers()
    again = CachedLayers(net, (8, 8), tmp_path)
    n_before = net.n_images
    assert torch.equal(again(IMAGES[::-1].copy()).flip(0), first)
    assert torch.equal(again(IMAGES[[3, 3, 5]]), first[[3, 3, 5]])
    assert net.n_images == n_before
    assert again(IMAGES[:0]).shape == (0, 3, 6, 6)


def test_outputs_do_not_depend_on_the_other_images_of_a_batch(tmp_path: Path) -> None:
    together = CachedLayers(layers(), (8, 8), tmp_path / "a")(IMAGES)
    alone = CachedLayers(layers(), (8, 8), tmp_path / "b")
    assert torch.equal(torch.cat([alone(IMAGES[i : i + 1]) for i in range(5)]), together[:5])


def test_other_weights_have_another_cache(tmp_path: Path) -> None:
    one, other = (CachedLayers(layers(seed), (8, 8), tmp_path)(IMAGES) for seed in (0, 1))
    assert not torch.equal(one, other)
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interrupted_write_loses_only_itself(tmp_path: Path) -> None:
    CachedRows(tmp_path / "rows", 4).add({KEYS[0]: ROW, KEYS[1]: ROW + 1})
    os.truncate(tmp_path / "rows" / "entries", ENTRY_BYTES + 3)
    rows = CachedRows(tmp_path / "rows", 4)
    assert (len(rows), rows.get(KEYS[1])) == (1, None)
    rows.add({KEYS[2]: ROW + 2})
    rows = CachedRows(tmp_path / "rows", 4)
    assert [rows.get(key) is not None for key in KEYS[:3]] == [True, False, True]
    np.testing.assert_array_equal(rows.get(KEYS[2]), ROW + 2)


def test_a_damaged_value_counts_as_missing(tmp_path: Path) -> None:
    CachedRows(tmp_path / "rows", 4).add({KEYS[0]: ROW})
    (tmp_path / "rows" / "values").write_bytes(b"\1" * 8)
    assert CachedRows(tmp_path / "rows", 4).get(KEYS[0]) is None


def test_several_processes_add_to_the_same_rows(tmp_path: Path) -> None:
    one, two = CachedRows(tmp_path / "rows", 4), CachedRows(tmp_path / "rows", 4)
    one.add({KEYS[0]: ROW})
    two.add({KEYS[1]: ROW + 1})
    np.testing.assert_array_equal(two.get(KEYS[0]), ROW)
    one.add({KEYS[2]: ROW + 2})
    np.testing.assert_array_equal(one.get(KEYS[1]), ROW + 1)


def test_size_is_bounded_and_old_caches_go_first(tmp_path: Path) -> None:
    old = CachedRows(tmp_path / "old", 4)
    old.add({KEYS[0]: ROW})
    os.utime(tmp_path / "old", (0, 0))
    new = CachedRows(tmp_path / "new", 4, max_bytes=4 * (8 + ENTRY_BYTES) + 60)
    for key in KEYS:
        new.add({key: ROW})
    assert not (tmp_path / "old").exists()
    assert 4 <= len(new) < len(KEYS)
    np.testing.assert_array_equal(old.get(KEYS[0]), ROW)


def test_a_cache_that_another_process_removes_is_not_an_error(tmp_path: Path) -> None:
    cached = CachedLayers(layers(), (8, 8), tmp_path)
    expected = cached(IMAGES[:3])
    shutil.rmtree(cached.rows.folder)
    assert torch.equal(cached(IMAGES[:5])[:3], expected)
    assert torch.equal(cached(IMAGES[:5])[:3], expected)


def test_a_cache_in_use_is_not_the_oldest(tmp_path: Path) -> None:
    used = CachedRows(tmp_path / "used", size=4)
    used.add({KEYS[0]: ROW})
    os.utime(tmp_path / "used", (0, 0))
    used.add({KEYS[1]: ROW})
    assert (tmp_path / "used").stat().st_mtime > 0


def test_folder_is_set_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVERLEARN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path / "activations"
    monkeypatch.delenv("EVERLEARN_CACHE")
    assert "everlearn" in str(cache_folder())
