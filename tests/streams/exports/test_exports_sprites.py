"""The real stream, out and back."""

import pytest

from everlearn.streams import export, load, sprites
from everlearn.streams.exports import FORMATS

SMALL = {"image_size": 16, "classes_per_task": 2, "factor_values": 3}


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize(
    "settings",
    [{}, {"rgb": True, "held_out": 4}, {"scenario": "task-incremental"}, {"boundaries": "gradual"}],
    ids=lambda settings: "-".join(map(str, settings)) or "plain",
)
def test_sprites_come_back_with_their_settings(tmp_path, to, settings):
    stream = sprites(**SMALL, **settings)
    export(stream, tmp_path, to=to, tasks=range(2))
    again = load(tmp_path)
    assert (again.id, again.spec) == (stream.id, stream.spec)
    assert again.fingerprint() == stream.fingerprint() == again.spec.build().fingerprint()
    for a, b in zip(stream.take(2), again, strict=True):
        assert (a, a.train, a.exemplars) == (b, b.train, b.exemplars)
        assert (a.train.tasks is None) == (settings.get("scenario") != "task-incremental")
