"""`everlearn protocol`: put questions to the learner of a record."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

from everlearn.cli.arguments import Whole, read_counts
from everlearn.cli.multiple_choice import choice
from everlearn.cli.output import Answer, Shown
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.runs import Play, Record


DASH = "–"
SCORES = ("disentanglement", "completeness", "informativeness", "mig", "sap")


def traversal(record: Path, /, *, image: Whole = 0) -> Answer:
    """Draw an image of each environment while one latent after another goes from -2 to 2.

    Args:
        record: The folder of a record whose learner describes and draws.
        image: The number of the test image from which walks begin.
    """
    facts = _imagined(record, "traversal", image=image)
    shown = facts["latents"][: facts["n_used"]]
    rows = [
        (each["name"], str(each["environment"]), _numbers(n for n in shown if _is_used(each, n)))
        for each in facts["walks"]
    ]
    return _answer(facts, ("environment", "taken for", "latents that say something"), rows)


def translation(record: Path, /, *, size: Whole = 500) -> Answer:
    """Draw images of each environment as every other shows them; judge what became of them.

    Args:
        record: The folder of a record whose learner tells environments apart.
        size: Images of each environment.
    """
    facts = _imagined(record, "translation", size=size)
    rows = [
        (name, other, *(_text(judged[score]) for score in ("there", "off", "kept")))
        for name, row in zip(facts["names"], facts["outcomes"], strict=True)
        for other, judged in zip(facts["names"], row, strict=True)
    ]
    return _answer(facts, ("images of", "as in", "look so", "off their place", "keep their name"), rows)


def ambiguity(record: Path, /, *, between: str = "", size: Whole = 256) -> Answer:
    """Mix images of two environments; which of them is a batch taken for, alone and in company?

    Args:
        record: The folder of a record whose learner tells environments apart.
        between: Two environments such as mnist,inverted-fashion; the first two that came if not said.
        size: Pairs of images that are mixed.
    """
    names = tuple(name for name in between.split(",") if name)
    facts = _imagined(record, "ambiguity", between=names, size=size)
    rows = [(each["context"] or DASH, str(each["n_mixed"]), *_flip(each["flip"])) for each in facts["curves"]]
    return _answer(facts, ("in company of", "mixed images", f"{facts['names'][0]} from", "within"), rows)


def disentanglement(record: Path, /, *, size: Whole = 1000) -> Answer:
    """Compare codes with the factors that images really show: DCI, MIG and SAP in each environment.

    Args:
        record: The folder of a record whose learner describes images by numbers.
        size: Images of each environment.
    """
    facts = _imagined(
        record,
        "disentanglement",
        lambda found: {"environments": [each.to_json() for each in found]},
        size=size,
    )
    rows = [
        (each["name"], ", ".join(each["factors"]), *(_text(each[score]) for score in SCORES))
        for each in facts["environments"]
    ]
    return _answer(facts, ("environment", "factors", *SCORES), rows)


def _plain(found: Any) -> dict[str, Any]:
    told: dict[str, Any] = found.to_json()
    return told


def _imagined(
    record: Path, question: str, told: Callable[[Any], dict[str, Any]] = _plain, **settings: Any
) -> dict[str, Any]:
    """The answer to the protocol of this name, told where the learner was while it learned each task."""
    from everlearn.cli.multiple_choice import asked, batches
    from everlearn.evaluation import protocols

    learned = batches(record)

    def ask(play: Any, n: int) -> dict[str, Any]:
        found = getattr(protocols, question)(play.learner, play.stream, n, batches=learned[:n], **settings)
        return told(found)

    return asked(record, question, ask)


def _answer(facts: dict[str, Any], titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Answer:
    from everlearn.cli.output import table

    return Answer(facts, lambda: table(titles, rows))


def _is_used(walks: dict[str, Any], latent: int) -> bool:
    from everlearn.evaluation.protocols.environments import USED

    return bool(walks["nats"][latent] > USED)


def _flip(flip: dict[str, float] | None) -> tuple[str, str]:
    return (DASH, DASH) if flip is None else (_text(flip["point"]), _text(flip["width"]))


def _numbers(latents: Iterable[int]) -> str:
    return ", ".join(map(str, latents)) or DASH


def _text(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


AREAS = {
    "roc": "area under the ROC curve",
    "precision_recall": "area under precision and recall",
    "acceptance": "area of known accepted, new rejected (the paper's curve)",
}
SHARES = {
    "threshold": "novelty from which an image is called new",
    "accepted": "known images accepted",
    "rejected": "new images rejected",
    "accuracy": "known images accepted and named rightly",
}

app = App(name="protocol", help="Put questions to the learner of a record.")
app.command(choice)
for question in (traversal, translation, ambiguity, disentanglement):
    app.command(question)


@app.command
def oneshot(record: Path, /, *, new: str = "10,100,1000", size: Whole = 1000) -> Answer:
    """Show one image of each new class; ask for them in other poses.

    Args:
        record: The folder of the record.
        new: Numbers of new classes.
        size: Images asked about each time.
    """
    from everlearn.evaluation.protocols import one_shot

    counts = read_counts("--new", new, such_as="10,100,1000")
    facts = _asked(
        record,
        "oneshot",
        lambda play, n: one_shot(play.learner, play.stream, n, counts=counts, size=size).to_json(),
    )
    columns = ("n_new", "standard", "generalised", "old")
    rows = [tuple(_protocol_text(each[key]) for key in columns) for each in facts["shots"]]
    titles = ("new classes", "alone in memory", "beside old ones", "old ones beside them")
    return Answer(facts, lambda: _table(titles, rows))


@app.command
def openset(record: Path, /, *, size: Whole = 1000, accepted: float = 0.95) -> Answer:
    """Ask how new images of classes met and never met look; tell them apart.

    Args:
        record: The folder of the record.
        size: Images of known classes, and about as many of new ones.
        accepted: Share of known validation images to accept; it sets the threshold.
    """
    from everlearn.evaluation.protocols import open_set

    facts = _asked(
        record,
        "openset",
        lambda play, n: open_set(play.learner, play.stream, n, size=size, accepted=accepted).to_json(),
    )
    rows = [(words, _protocol_text(facts[name]["area"])) for name, words in AREAS.items()]
    rows += [(words, _protocol_text(facts[name])) for name, words in SHARES.items()]
    return Answer(facts, lambda: _table(("open set", ""), rows))


@app.command
def transfer(record: Path, /, *, size: Whole = 1000) -> Answer:
    """Compare factor combinations that were trained with those held out.

    Args:
        record: The folder of a record whose stream holds some out (--set stream.held_out=25).
        size: Images of each kind.
    """
    from everlearn.evaluation import protocols

    facts = _asked(
        record,
        "transfer",
        lambda play, n: protocols.transfer(play.learner, play.stream, n, size=size).to_json(),
    )
    rows = [("accuracy", _protocol_text(facts["trained"]), _protocol_text(facts["held_out"]))]
    errors = [
        (f"error in {name}", _protocol_text(error), _protocol_text(facts["held_out_errors"][name]))
        for name, error in facts["trained_errors"].items()
    ]
    return Answer(facts, lambda: _table(("", "trained", "held out"), [*rows, *errors]))


@app.command
def environments(record: Path, /, *, size: Whole = 1000) -> Answer:
    """Ask a learner that describes what it made of its environments, and what its latents do in each.

    Args:
        record: The folder of the record.
        size: Images of each environment that are looked at.
    """
    from everlearn.evaluation.protocols.environments import surroundings
    from everlearn.reports.run_results import Findings
    from everlearn.runs import Record

    lengths = list(Findings.of(Record(record)).n_batches.values())
    facts = _asked(
        record,
        "environments",
        lambda play, n: surroundings(play.learner, play.stream, lengths[:n], size=size).to_json(),
    )
    rows = [(each["name"], each["found"], _counted(each["delay"])) for each in facts["stages"]]
    rows += [(f"latents in {each['name']}", _listed(each["used"]), "") for each in facts["latents"]]
    rows += [
        (f"latents of places, {word}", str(facts[word])[1:-1] or "–", "") for word in ("shared", "masked")
    ]
    return Answer(facts, lambda: _table(("environment", "taken for", "after batches"), rows))


@app.command
def online(record: Path, /, *, epochs: Whole = 5, screen: Shown) -> Answer:
    """Play a record's run once more, online if it was offline and the other way round; compare.

    Args:
        record: The folder of the record.
        epochs: Passes over each task when offline.
        screen: Where progress is shown.
    """
    from everlearn.cli.run import rerun
    from everlearn.runs import Record

    first = Record(record)
    if epochs < 2:
        raise BadInput(f"epochs is {epochs}; offline means at least 2")
    other = rerun(first, epochs=1 if first.spec["epochs"] > 1 else epochs, screen=screen)
    return _compared(first, other)


def _compared(first: "Record", other: "Record") -> Answer:
    from everlearn.cli.multiple_choice import keep
    from everlearn.reports.run_results import Findings, summary

    by_epochs = sorted((first, other), key=lambda each: int(each.spec["epochs"]))
    facts = dict(zip(("online", "offline"), (summary(Findings.of(each)) for each in by_epochs), strict=True))
    kept = keep(first, "online", facts)
    keys = ("record", "average_accuracy", "forgetting", "seconds", "images")
    rows = [(key.replace("_", " "), *(_protocol_text(facts[side][key]) for side in facts)) for key in keys]
    return Answer(kept, lambda: _table(("", *facts), rows))


def _asked(folder: Path, question: str, ask: "Callable[[Play, int], dict[str, Any]]") -> dict[str, Any]:
    """The answer of a record's learner, also written into the record."""
    from everlearn.cli.multiple_choice import asked

    return asked(folder, question, ask)


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Any:
    from everlearn.cli.output import table

    return table(titles, rows)


def _listed(flags: Iterable[bool]) -> str:
    """The numbers of those that are true."""
    return ", ".join(str(n) for n, flag in enumerate(flags) if flag) or "–"


def _counted(n: float | None) -> str:
    return _protocol_text(None if n is None else int(n))


def _protocol_text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str("–" if value is None else value)
