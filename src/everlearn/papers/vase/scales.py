"""The runs of the paper at three scales.

Series are named by the letters of the paper: S infers environments, D replays generated samples ("dreaming"),
A masks latents. SD-[41] is the paper's name for a teacher and a student (Ramapuram et al.): entangled, and
without a penalty on the decoder.

Smoke uses sprites instead of MNIST and Fashion-MNIST. Most settings of the paper are in an appendix that is
not available; the number of epochs, the learning rate and the evaluation interval of the paper scale are
those of other reproductions, the rest are our defaults.
"""

from everlearn.papers.experiment import Run, Scale, Series, Settings, learner, stream

NONE: Settings = {}
THREE = (0, 1, 2)
"""Seeds."""
MAIN = ("moving-fashion", "mnist", "moving-mnist")
SEQUENCES = {
    "main": MAIN,
    "five": ("moving-mnist", "fashion", "inverted-fashion", "mnist", "moving-fashion"),
    "pair": ("mnist", "inverted-fashion"),  # the paper has CelebA, which is not available, instead of MNIST
    "recurring": ("moving-fashion", "mnist", "moving-fashion"),
}
SMOKE_SEQUENCES = {
    "main": ("moving-sprites", "sprites", "moving-inverted-sprites"),
    "five": ("moving-sprites", "sprites", "inverted-sprites", "sprites", "moving-inverted-sprites"),
    "pair": ("sprites", "inverted-sprites"),
    "recurring": ("moving-sprites", "inverted-sprites", "moving-sprites"),
}
PROTOCOLS = ("environments", "traversal")

CODES = ("S", "D", "A", "SA", "DA", "SD", "SDA")
RAMAPURAM = "SD-[41]"
ENTANGLED = ", entangled"
"""Suffix of variants without a penalty for disentanglement."""
MIN_KL = 0.5
"""KL from which on a latent counts as used; with a smaller one, five environments leave no latent unused."""

EPOCHS, STAGE = 6, 3.5
"""At laptop scale: epochs per environment, and minutes of a stage on one core with all components."""
CAPACITY_STEP, PAPER_CAPACITY_STEP = 0.01, 0.001


def components(code: str) -> Settings:
    """The settings of VASE behind the letters of a variant.

    Example:
        >>> components("SD")
        {'learner.environment_inference': True, 'learner.generative_replay': True,
         'learner.latent_masking': False}
    """
    switches = {"S": "environment_inference", "D": "generative_replay", "A": "latent_masking"}
    settings = learner(**{name: letter in code for letter, name in switches.items()})
    return {**settings, **(learner(usage_min_kl=MIN_KL) if "A" in code else {})}


def _row(
    name: str,
    sequence: str = "main",
    *,
    settings: Settings = NONE,
    smoke: Settings = NONE,
    laptop: Settings = NONE,
    paper: Settings | None = NONE,
    seeds: tuple[int, ...] = (0,),
    paper_seeds: tuple[int, ...] = (0,),
    protocols: tuple[str, ...] = PROTOCOLS,
    stage: float = STAGE,
) -> Series:
    """A variant, named by its letters and what follows them; minutes are those of its stages."""
    code = name.split(",")[0]
    stages, smoke_stages = SEQUENCES[sequence], SMOKE_SEQUENCES[sequence]
    return Series(
        name,
        "cci-vae" if code in ("CCI-VAE", "VAE") else "vase",
        Run({"stream.sequence": smoke_stages, **smoke}),
        Run({"stream.sequence": stages, **laptop}, seeds, stage * len(stages)),
        None if paper is None else Run({"stream.sequence": stages, **paper}, paper_seeds),
        {**(components(code) if code in CODES else {}), **settings},
        protocols,
    )


def _design_choices(capacity_step: float) -> dict[str, Settings]:
    """The alternatives to what we chose where the paper gives no details."""
    return {
        "default": {},
        "gamma 100": learner(gamma=100.0),
        "absolute": learner(penalty="absolute", gamma=100.0),
        "total KL": learner(informative_kl=False),
        "capacity not reset": learner(restart_capacity=False),
        "doubled capacity": learner(capacity_step=2 * capacity_step, max_capacity=50.0),
        "total error": learner(excess_nll=False),
        "selection by reconstruction": learner(selector="reconstruction"),
        "unused latents masked": learner(mask_unused=True),
        "masks never frozen": learner(mask_freeze_after=1_000_000),
        "usage by noise": learner(usage_criterion="noise"),
        "no warm-up": learner(lr_warmup=0),
        "periodic snapshots": learner(snapshot_every=500),
        "replay of the current environment": learner(snapshot_every=500, replay_current=True),
    }


def _choice(name: str) -> Series:
    own, paper = (_design_choices(step)[name] for step in (CAPACITY_STEP, PAPER_CAPACITY_STEP))
    return _row(
        f"SDA, {name}",
        smoke={"epochs": 2, **own},
        laptop={"epochs": 2, **own},
        paper={"epochs": 10, **paper},
        protocols=("environments",),
        stage=STAGE * 2 / EPOCHS,
    )


def _wide(name: str) -> Series:
    """Twice the channels, in less than twice the time."""
    return _row(name, settings=learner(size="small"), paper=None, seeds=(0, 1), stage=2 * STAGE)


def _large_objects(name: str) -> Series:
    """Objects of 24 pixels instead of 14 (48 instead of 28), more training, capacity and probe data."""
    probes, larger = {"evaluation.n_probe_images": 40_000}, learner(n_latents=48, max_capacity=50.0)
    return _row(
        name,
        smoke={"evaluation.n_probe_images": 40, **learner(n_latents=16)},
        laptop={
            **probes,
            **larger,
            **stream(drawn_size=24),
            **learner(capacity_step=2 * CAPACITY_STEP),
            "epochs": 2 * EPOCHS,
            "evaluation.every_n_batches": 6000,
        },
        paper={**probes, **larger, **stream(drawn_size=48), **learner(capacity_step=2 * PAPER_CAPACITY_STEP)},
        seeds=THREE,
        paper_seeds=THREE,
        stage=2 * STAGE,
    )


MIXED = learner(entangled=True)
MORE_LATENTS = learner(n_latents=32)
"""Inverted images share no latents with earlier ones; the 24 latents of the paper would leave too few."""
FIVE = {**MORE_LATENTS, **learner(cooldown=1000)}
"""Inverted images take long to learn; no new environment is inferred in the first steps after a change."""
CHOICES = tuple(f"SDA, {name}" for name in _design_choices(CAPACITY_STEP))

TABLE = (
    _row("CCI-VAE", seeds=THREE, paper_seeds=THREE),
    _row("VAE", settings=MIXED, paper_seeds=THREE, protocols=()),
    _row("S", protocols=()),
    _row("D", protocols=()),
    _row("A", seeds=THREE, paper_seeds=THREE, protocols=()),
    _row("SA", protocols=()),
    _row("DA", protocols=()),
    _row("SD", seeds=THREE, paper_seeds=THREE, protocols=()),
    _row("SDA", seeds=THREE, paper_seeds=THREE),
    *(_row(code + ENTANGLED, settings=MIXED, protocols=()) for code in CODES[:-1]),
    _row(f"SDA{ENTANGLED}", settings=MIXED, paper_seeds=THREE, protocols=()),
    _row(RAMAPURAM, settings={**MIXED, **components("SD"), **learner(decoder_weight=0.0)}, protocols=()),
    _row("CCI-VAE, five", "five", laptop=MORE_LATENTS),
    _row("SDA, five", "five", laptop=FIVE, protocols=(*PROTOCOLS, "cross-domain")),
    _row(
        f"SDA, five{ENTANGLED}", "five", settings=MIXED, laptop=FIVE, protocols=(*PROTOCOLS, "cross-domain")
    ),
    _row("SDA, pair", "pair", smoke={"stream.images_per_shape": 400}, protocols=(*PROTOCOLS, "ambiguity")),
    _row("SDA, imagined exploration", settings=learner(exploration="imagined"), protocols=()),
    _row("SDA, random exploration", settings=learner(exploration="random"), protocols=()),
    _row("SDA, recurring", "recurring"),
    *map(_wide, ("CCI-VAE, wide networks", "SDA, wide networks")),
    *map(_large_objects, ("CCI-VAE, large objects", "SDA, large objects")),
    *map(_choice, _design_choices(CAPACITY_STEP)),
)

SCALES = (
    Scale(
        "smoke",
        "For tests: sprites at 16 px, four batches per stage.",
        TABLE,
        folder="smoke/vase",
        stream="environments",
        settings={
            **stream(image_size=16, n_shapes=2, images_per_shape=40, images_per_stage=64),
            "batch_size": 16,
            "evaluation.n_images": 8,
            **learner(size="tiny", n_latents=8),
        },
        protocol_options={
            "environments": ("--n-images", "4"),
            "cross-domain": ("--n-images", "16"),
            "ambiguity": ("--n-images", "64"),
        },
    ),
    Scale(
        "laptop",
        "One core: MNIST and Fashion-MNIST at 32 px, small networks.",
        TABLE,
        folder="vase",
        stream="environments",
        settings={
            **stream(image_size=32, images_per_stage=60_000),
            "epochs": EPOCHS,
            "evaluation.every_n_batches": 1200,
            **learner(size="tiny"),
        },
    ),
    Scale(
        "paper",
        "The size of the paper: 64 px, its networks, 30 epochs per stage; needs a GPU.",
        TABLE,
        folder="paper/vase",
        stream="environments",
        settings={
            "device": "cuda",
            **stream(image_size=64, images_per_stage=60_000),
            "epochs": 30,
            "evaluation.every_n_batches": 2500,
            **learner(size="paper", learning_rate=6e-4, capacity_step=PAPER_CAPACITY_STEP),
        },
    ),
)
