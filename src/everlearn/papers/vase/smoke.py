"""VASE in a minute: all of it is played, on drawn shapes, and that is all that is learned from it."""

from everlearn.papers.exhibit import Scale
from everlearn.papers.vase.choices import choices
from everlearn.papers.vase.variants import elsewhere, imagining, lines

MAIN = ("moving-sprites", "sprites", "moving-inverted-sprites")
FIVE = ("moving-sprites", "sprites", "inverted-sprites", "sprites", "moving-inverted-sprites")
RETURNING = ("moving-sprites", "inverted-sprites", "moving-sprites")
TINY = {
    "stream.image_size": 16,
    "stream.shapes": 2,
    "stream.images_per_shape": 40,
    "stream.images_per_stage": 64,
    "batch_size": 16,
    "evaluation.probe_size": 8,
    "learner.size": "tiny",
    "learner.n_latents": 8,
}
PAIR = ("sprites", "inverted-sprites")
ENOUGH = {"stream.images_per_shape": 400}
"""Images are mixed by the batch."""
ASKS = (("environments", "--size", "4"), ("traversal",))
MORE = {"five": (*ASKS, ("translation", "--size", "16")), "pair": (*ASKS, ("ambiguity", "--size", "64"))}
LARGER = {**TINY, "stream.sequence": MAIN, "learner.size": "small"}
CLOSER = {**TINY, "stream.sequence": MAIN, "evaluation.lesson_size": 40, "learner.n_latents": 16}

SMOKE = Scale(
    "smoke",
    "For tests: drawn shapes at 16 px, four batches a stage.",
    (
        *lines("smoke/vase", common={**TINY, "stream.sequence": MAIN}, entangled={}, seeds={}, asks=ASKS),
        *elsewhere("smoke/vase", "five", ("CCI-VAE",), {**TINY, "stream.sequence": FIVE}, ASKS),
        *imagining(
            "smoke/vase",
            main={**TINY, "stream.sequence": MAIN},
            five={**TINY, "stream.sequence": FIVE},
            pair={**TINY, **ENOUGH, "stream.sequence": PAIR},
            entangled={},
            asks=MORE,
        ),
        *elsewhere("smoke/vase", "returning", ("SDA",), {**TINY, "stream.sequence": RETURNING}, ASKS),
        *elsewhere("smoke/vase", "larger", ("CCI-VAE", "SDA"), LARGER, ASKS),
        *elsewhere("smoke/vase", "closer", ("CCI-VAE", "SDA"), CLOSER, ASKS),
        *choices("smoke/vase", {**TINY, "stream.sequence": MAIN, "epochs": 2}, ASKS[:1]),
    ),
)
