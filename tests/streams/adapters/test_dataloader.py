"""Sprite streams in DataLoader workers: the renderer must work in child processes."""

import pytest
import torch
from torch.utils.data import DataLoader

from everlearn.streams import export, load, sprites
from everlearn.streams.adapters import to_torch_iterable

SMALL = {"image_size": 16, "classes_per_task": 2, "factor_values": 3}


@pytest.mark.filterwarnings(
    "ignore:.*multi-threaded.*fork:DeprecationWarning"
)  # torch's default in 3.11..3.13
@pytest.mark.parametrize(("start", "exported"), [(None, True), ("forkserver", False)])
def test_dataloader_workers_see_the_same_stream(tmp_path, start, exported):
    stream = sprites(**SMALL)
    stream.task(0).train.images.sum()  # load the renderer before the fork
    if exported:
        export(stream, tmp_path, tasks=range(2))
    given = load(tmp_path) if exported else stream
    dataset = to_torch_iterable(given, range(2), batch_size=50, shuffle_seed=None)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=start)
    images = torch.cat([images for images, _ in loader])
    expected = [torch.from_numpy(stream.task(k).train.images) for k in range(2)]
    assert torch.equal((images[:, 0] * 255).round().to(torch.uint8), torch.cat(expected))
