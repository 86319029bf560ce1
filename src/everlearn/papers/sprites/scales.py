"""The runs of the paper at three scales.

Laptop: DCL learns 500 tasks, each image once. The baselines use `pooled`, which of the small backbones needs
the fewest images per task, on images downsampled to 32 px. Replay methods see each new image once, together
with three replayed ones; the others train for three epochs per task, the number needed to learn one well.
Settings were chosen on the stream with seed 9, which is not reported.

Paper: 500 tasks of 10 shapes on a 5^4 grid, ResNet-18, Adam at 0.001, batches of 256, 5 epochs, and the
strengths and buffer sizes of the paper. A-GEM ends after 50 tasks and L2P after 100, as in the paper.
"""

from everlearn.papers.experiment import Row, Run, Scale, Settings

TWO, THREE = (0, 1), (0, 1, 2)
"""Seeds."""
PROTOCOLS = ("oneshot", "openset", "choice")

DCL_200 = {"n_tasks": 200, "evaluation.every": 10}
CNN = {"learner.backbone": "pooled", "batch_size": 32, "epochs": 3, "n_tasks": 20}
ONE_EPOCH = {**CNN, "epochs": 1, "learner.replay_size": 96}
REPLAY = {**ONE_EPOCH, "n_tasks": 30}
DER = {"learner.alpha": 0.1, "learner.beta": 0.5}
L2P = {"n_tasks": 12, "epochs": 3, "batch_size": 32, "learner.weights": "results/vit-fashion.safetensors"}
RESNET = {"learner.backbone": "resnet18"}
RESNET_REPLAY = {**RESNET, "learner.replay_size": 256}
RESNET_L2P = {
    "n_tasks": 100,
    "epochs": 20,
    "learner.weights": "hub:timm/vit_base_patch16_224.augreg_in21k_ft_in1k",
}


def _buffer(
    size: int, settings: Settings, seeds: tuple[int, ...] = (0,), minutes: float | None = None
) -> Run:
    return Run({**settings, "learner.memory_size": size}, seeds, minutes)


def _er(label: str, size: int, *, smoke: int | None, laptop: bool = True, paper: bool = True) -> Row:
    """Experience replay with a buffer of some size."""
    return Row(
        f"er {label}",
        "er",
        None if smoke is None else _buffer(smoke, {}),
        _buffer(size, REPLAY, TWO, 6.5) if laptop else None,
        _buffer(size, RESNET_REPLAY) if paper else None,
    )


def _short(
    name: str,
    learner: str,
    minutes: float,
    smoke: Settings | None = None,
    laptop: Settings | None = None,
    paper: Settings | None = None,
) -> Row:
    """Tasks of few classes, short enough for three seeds and for joint training."""
    folder = f"short/{name.replace(' ', '-')}"
    return Row(
        f"{name}, short",
        learner,
        Run({"stream.classes_per_task": 3, **(smoke or {})}),
        Run({**CNN, "stream.classes_per_task": 5, **(laptop or {})}, THREE, minutes, folder),
        Run({**RESNET, "n_tasks": 20, "stream.classes_per_task": 5, **(paper or {})}),
    )


def _short_er(label: str, size: int, smoke: int) -> Row:
    return _short(
        f"er {label}",
        "er",
        2.5,
        {"learner.memory_size": smoke},
        {"epochs": 1, "learner.replay_size": 96, "learner.memory_size": size},
        {"learner.replay_size": 256, "learner.memory_size": size},
    )


# Columns: series, learner, smoke, laptop (settings, seeds, minutes, folder), paper.
ROWS = (
    Row(
        "dcl",
        "dcl",
        Run(),
        Run({"n_tasks": 500}, TWO, 16, "dcl/500-tasks"),
        Run({"epochs": 1}, learner="dcl-paper"),
    ),
    Row(
        "dcl, 200 tasks",
        "dcl",
        Run({"n_tasks": 4}),
        Run(DCL_200, THREE, 9, "dcl/200-tasks"),
        Run(DCL_200, learner="dcl-paper"),
        protocols=PROTOCOLS,
    ),
    Row(
        "dcl, 3 epochs",
        "dcl",
        Run({"epochs": 3}),
        Run({**DCL_200, "epochs": 3}, minutes=10, folder="dcl/3-epochs"),
        Run({"epochs": 3}, learner="dcl-paper"),
    ),
    Row(
        "dcl, 5 epochs",
        "dcl",
        Run({"epochs": 5}),
        Run({**DCL_200, "epochs": 5}, minutes=11, folder="dcl/5-epochs"),
        Run({"epochs": 5}, learner="dcl-paper"),
    ),
    Row("naive", "naive", Run(), Run(CNN, TWO, 4), Run(RESNET)),
    Row("lwf", "lwf", Run(), Run(CNN | {"learner.alpha": 0.1}, TWO, 5), Run(RESNET | {"learner.alpha": 0.1})),
    Row(
        "ewc",
        "ewc",
        Run(),
        Run(CNN | {"learner.strength": 1.0}, TWO, 4),
        Run(RESNET | {"learner.strength": 0.3}),
    ),
    Row(
        "si",
        "si",
        Run(),
        Run(CNN | {"learner.strength": 0.1}, TWO, 4),
        Run(RESNET | {"learner.strength": 0.1}),
    ),
    _er("250", 250, smoke=None, paper=False),
    _er("1k", 1000, smoke=4),
    _er("2k", 2000, smoke=6, laptop=False),
    _er("5k", 5000, smoke=8),
    _er("10k", 10_000, smoke=10, laptop=False),
    _er("20k", 20_000, smoke=12),
    Row(
        "a-gem",
        "a-gem",
        _buffer(10, {}),
        _buffer(5000, ONE_EPOCH, TWO, 5),
        _buffer(500, {**RESNET, "n_tasks": 50, "learner.replay_size": 64}),
    ),
    Row(
        "der 5k",
        "der++",
        _buffer(10, {}),
        _buffer(5000, {**REPLAY, **DER, "learner.replay_size": 48}, TWO, 7),  # it samples the buffer twice
        _buffer(5000, {**RESNET_REPLAY, **DER, "n_tasks": 200}),
    ),
    Row("contrastive", "contrastive", Run(), Run(CNN, TWO, 6), Run({**RESNET, "n_tasks": 100})),
    Row("l2p", "l2p", Run(), Run(L2P, minutes=16), Run(RESNET_L2P)),
    _short("naive", "naive", 2),
    _short_er("500", 500, smoke=4),
    _short_er("2k", 2000, smoke=8),
    _short_er("8k", 8000, smoke=12),
    _short("joint", "joint", 6, laptop={"epochs": 1}),
)

SCALES = (
    Scale.from_table(
        "smoke",
        "For tests: 16 px, two classes per task, three tasks.",
        ROWS,
        folder="smoke",
        settings={
            "stream.image_size": 16,
            "stream.factor_values": 2,
            "stream.classes_per_task": 2,
            "evaluation.ahead": False,
            "evaluation.probe_size": 20,
            "batch_size": 16,
            "n_tasks": 3,
        },
        protocol_options={
            "oneshot": ("--new", "2,4", "--size", "20"),
            "openset": ("--size", "20"),
            "choice": ("--choices", "2,4", "--trials", "5"),
        },
    ),
    Scale.from_table(
        "laptop",
        "Two cores: 64 px, small networks, 500 tasks for DCL, 12 to 30 for the others. Other work ran on "
        "the machine at the same time, so the times are upper bounds.",
        ROWS,
        folder="sprites",
        settings={"evaluation.ahead": False},
    ),
    Scale.from_table(
        "paper",
        "The size of the paper: 224 px, ResNet-18, 5 epochs, 500 tasks; needs a GPU.",
        ROWS,
        folder="paper",
        settings={
            "stream.image_size": 224,
            "evaluation.ahead": False,
            "evaluation.probe_size": 10_000,
            "batch_size": 256,
            "epochs": 5,
            "n_tasks": 500,
            "device": "cuda",
        },
    ),
)
