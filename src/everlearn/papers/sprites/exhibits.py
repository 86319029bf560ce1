"""The figures and tables of "Infinite dSprites for Disentangled Continual Learning"."""

from everlearn.papers import drawing
from everlearn.papers.exhibit import Exhibit
from everlearn.papers.sprites import claims
from everlearn.reports import protocol_figures

DCL, ASKED, PIXELS = "dcl", "dcl, 200 tasks", "pixel matching"
REGULARISED = ("lwf", "ewc", "si")
BUFFERS = ("er 250", "er 1k", "er 2k", "er 5k", "er 10k", "er 20k")
REHEARSED = ("naive, short", "er 500, short", "er 2k, short", "er 8k, short")
JOINT = "joint, short"
ONLINE = (DCL, "dcl, 3 epochs", "dcl, 5 epochs")

EXHIBITS = (
    Exhibit(
        "figure-3",
        "Regularisation over a long horizon",
        (DCL, "naive", *REGULARISED),
        (claims.collapse(*REGULARISED), claims.stays(DCL, *REGULARISED)),
        drawing.curves,
    ),
    Exhibit(
        "figure-4",
        "Experience replay, by the number of images it may keep",
        (DCL, *BUFFERS),
        (
            claims.rising("The larger the buffer, the longer accuracy lasts.", *BUFFERS),
            claims.decays("Accuracy eventually deteriorates, even with the largest buffer.", *BUFFERS),
            claims.stays(DCL, *BUFFERS),
        ),
        drawing.curves,
        "What counts is how many images are left for each class. After 30 tasks, 20,000 are 67 for each of "
        "300 classes and 250 are less than one; after the paper's 500 tasks 20,000 are 4 for each of 5,000. "
        "The network normalises by batches, as the paper's ResNet-18 does; a batch holds more of the newest "
        "task than the test does, which costs replay some accuracy and makes its curves uneven.",
    ),
    Exhibit(
        "figure-5",
        "Prompts for a pretrained transformer",
        (DCL, "l2p"),
        (
            claims.starts_low("l2p", 0.6),
            claims.fades("The accuracy of prompts falls rapidly.", "l2p"),
            claims.stays(DCL, "l2p"),
        ),
        drawing.curves,
        "The paper prompts a ViT-B/16 that was trained on ImageNet-21k. Its weights cannot be had here, so "
        "at laptop scale a small transformer is trained on Fashion-MNIST first. That is farther from sprites "
        "than ImageNet is: here even the first task is hardly learned at all, where the paper's network came "
        "to somewhat less than 60 %. So the finding that prompts do not teach a network to see is the same, "
        "and the height of the curve is not. `--scale paper` takes timm's weights.",
    ),
    Exhibit(
        "figure-6",
        "Finding the same shape again among several",
        (ASKED,),
        (claims.finds_again(ASKED, DCL, PIXELS),),
        drawing.choices,
        "The paper asks GPT-4 Vision and finds it above a guess only where choices are few. No such model "
        "can be reached here; `everlearn protocol choice RECORD --endpoint URL --model NAME` asks one the "
        "same.",
    ),
    Exhibit(
        "figure-7",
        "Invariance instead of equivariance: a contrastive learner",
        (DCL, "contrastive", "naive"),
        (
            claims.rising("It decays, but not as rapidly as naive fine-tuning.", "naive", "contrastive"),
            claims.above_chance("contrastive"),
            claims.stays(DCL, "contrastive"),
        ),
        drawing.curves,
    ),
    Exhibit(
        "figure-8",
        "Each image seen once, three times, five times",
        ONLINE,
        (
            claims.improves(DCL),
            claims.rising("More epochs give better and steadier accuracy.", *ONLINE),
        ),
        drawing.close_up,
        "Our DCL names nearly everything when it sees each image once, so more epochs have nothing left to "
        "improve: the differences that remain are of single images among a thousand.",
    ),
    Exhibit(
        "table-1",
        "New classes from one image each",
        (ASKED,),
        (
            claims.one_shot(ASKED, 10, "standard", 1.00),
            claims.one_shot(ASKED, 100, "standard", 0.98),
            claims.one_shot(ASKED, 1000, "standard", 0.95),
            claims.one_shot(ASKED, 10, "generalised", 0.96),
        ),
        protocol_figures.oneshot,
        "Of the paper's table our copy shows four cells; which of them 0.98 and 0.95 are is inferred.",
    ),
    Exhibit(
        "figure-9",
        "Telling new shapes from known ones",
        (ASKED,),
        (claims.open_set(ASKED, 0.92),),
        protocol_figures.openset,
        "What the authors call precision and recall are known images accepted and new ones rejected; that "
        "curve is drawn first, and real precision and recall beside it.",
    ),
    Exhibit(
        "figure-10",
        "New shapes that were taken for known ones",
        (ASKED,),
        (claims.mistakes(ASKED),),
        protocol_figures.mistakes,
    ),
    Exhibit(
        "appendix-agem",
        "Averaged gradient episodic memory",
        (DCL, "a-gem", "naive"),
        (claims.collapse("a-gem"), claims.stays(DCL, "a-gem")),
        drawing.curves,
    ),
    Exhibit(
        "appendix-der",
        "Dark experience replay with 5,000 images",
        (DCL, "der 5k", "er 5k"),
        (
            claims.rising("It outperforms experience replay with the same buffer.", "er 5k", "der 5k"),
            claims.decays("It still deteriorates over time.", "der 5k"),
            claims.stays(DCL, "der 5k"),
        ),
        drawing.curves,
        "The authors' DER is Avalanche's, which also learns the labels of remembered images; ours with these "
        "settings is der++. It is above experience replay under one of two seeds, and below under the other.",
    ),
    Exhibit(
        "rivals",
        "Twenty tasks of five classes: what rehearsal is worth, and its ceiling (not in the paper)",
        (*REHEARSED, JOINT),
        (
            claims.rising(
                "The more is kept, the more is known; joint training bounds all.", *REHEARSED, JOINT
            ),
            claims.forgets_less(
                "Replay forgets less than naive, larger buffers less than smaller.", *REHEARSED
            ),
        ),
        drawing.curves,
    ),
)
