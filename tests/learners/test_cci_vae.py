import pytest

from everlearn.learners.cci_vae import CciVae
from everlearn.learners.vase import Vase
from everlearn.networks import module_state
from everlearn.serialization import digest
from everlearn.streams import sprites

TRAIN = sprites(image_size=16, factor_values=2).task(0).train

GOLDEN_ERRORS = [179.102, 178.898, 178.681]
GOLDEN_LOSSES = [179.470, 204.053, 278.732]


def test_vase_without_its_three_ideas_is_cci_vae() -> None:
    """Weight for weight, after steps on whole batches and on one too small to be judged."""
    cci = CciVae(image_shape=(16, 16), size="tiny", capacity_step=0.01)
    vase = Vase(
        image_shape=(16, 16), size="tiny", capacity_step=0.01,
        n_environments=1, clustering=False, dreaming=False, masking=False,
    )  # fmt: skip
    for n in (32, 32, 8, 32):
        ours, theirs = cci.learn(TRAIN[:n]), vase.learn(TRAIN[:n])
        assert ours.items() <= {**theirs, "capacity": cci.capacity}.items()
    assert digest(module_state(cci.net)) == digest(module_state(vase.net))


def test_golden_losses() -> None:
    """What the first steps cost; any change of formula, noise or first weights moves these."""
    learner = CciVae(image_shape=(16, 16), size="tiny", n_latents=4, capacity_step=0.5, gamma=100.0)
    told = [learner.learn(TRAIN[:32]) for _ in range(3)]
    assert [each["reconstruction"] for each in told] == pytest.approx(GOLDEN_ERRORS, rel=1e-4)
    assert [each["loss"] for each in told] == pytest.approx(GOLDEN_LOSSES, rel=1e-3)
