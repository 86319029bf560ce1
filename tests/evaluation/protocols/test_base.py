"""What all protocols have in common, and the registry."""

import json
import subprocess
import sys

import pytest

from everlearn.errors import BadInput
from everlearn.evaluation import protocols
from everlearn.evaluation.protocols.one_shot import OneShot, OneShotResult, Shots
from everlearn.evaluation.protocols.open_set import OpenSet
from everlearn.learners import build
from everlearn.streams import Stream

NAMES = (
    "ambiguity", "answer-cost", "cross-domain", "disentanglement", "environments", "held-out-factors",
    "multiple-choice", "one-shot", "online-offline", "open-set", "open-world", "replay-quality", "traversal",
)  # fmt: skip
IMPORTS = """
import sys
from everlearn.evaluation import protocols
assert not [name for name in sys.modules if name.startswith("everlearn.evaluation.protocols.one")]
protocols.figure_names()
assert not {"torch", "matplotlib"} & set(sys.modules)
"""


def test_registry_lists_all_modules() -> None:
    assert tuple(protocols.names()) == NAMES
    with pytest.raises(BadInput, match="did you mean 'one-shot'"):
        protocols.get("oneshot")


def test_registry_is_lazy_and_needs_neither_torch_nor_matplotlib() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)


def test_protocols_are_documented() -> None:
    for name in NAMES:
        protocol = protocols.get(name)
        assert (protocol.name, protocol.kind) == (name, name)
        assert (protocol.__doc__ or "").strip()
        assert all(field.description for field in protocol.model_fields.values())
        assert all(part.caption for part in protocol.figures.values())
        assert issubclass(protocol.result, protocols.Result)


def test_options_are_validated() -> None:
    assert OneShot(n_new="2,5").n_new == OneShot(n_new=[2, 5]).n_new == (2, 5)
    for options, message in (
        ({"n_new": (0,)}, "n_new is 0; it must be at least 1"),
        ({"n_new": "ten"}, "n_new is 'ten'"),
        ({"n_new": ""}, "at least 1 item"),
        ({"n_images": 0}, "n_images is 0"),
        ({"size": 10}, "unknown one-shot setting 'size'"),
    ):
        with pytest.raises(BadInput, match=message):
            OneShot(**options)


def test_results_are_read_from_json() -> None:
    shots = Shots(n_new=2, n_images=3, standard=1 / 3, generalized=0.0, old=1.0)
    result = OneShotResult(n_old=6, shots=(shots,))
    stored = {"record": "x", **json.loads(json.dumps(result.to_json()))}
    assert OneShotResult.from_json(stored) == result
    with pytest.raises(BadInput, match=r"this is no OneShotResult: shots\.0\.old"):
        OneShotResult.from_json({"n_old": 6, "shots": [{**result.to_json()["shots"][0], "old": "high"}]})


def test_missing_capabilities_are_reported(stream: Stream) -> None:
    er = build("er", image_shape=(16, 16), seed=0)
    with pytest.raises(BadInput, match="ER has no exemplar memory that can be edited; use dcl"):
        protocols.evaluate("one-shot", er, stream, 2)
    with pytest.raises(BadInput, match="ER has no novelty score; use dcl"):
        OpenSet().run(er, stream, 2)
