"""The query sets by name."""

from benchmarks.photos import development, development_plain, new_user, objects, omniglot, sprites
from benchmarks.photos.methods import OBJECT_METHODS
from benchmarks.photos.queries import QuerySet

CHARACTER_METHODS = (
    "everlearn", "pixels", "nearest-mean-lite0", "k-nn-lite0", "slda-lite0", "ranpac-lite0",
    "character-network",
)  # fmt: skip
SPRITE_METHODS = (
    "everlearn", "everlearn-gradients", "pixels", "sift",
    "nearest-mean-lite0", "k-nn-lite0", "slda-lite0", "ranpac-lite0",
)  # fmt: skip
SETS = {
    query_set.name: query_set
    for query_set in (
        QuerySet(
            "new-user",
            "30 photos and 30 emoji, one image of each; asked on a canvas at all angles, at half to full "
            "size, at any place, under nine conditions.",
            "photos of scikit-image (most are public domain or CC0, see `skimage.data`), scikit-learn "
            "(CC BY 2.0) and matplotlib (its sample data); emoji: Twemoji graphics (CC BY 4.0)",
            new_user.trials,
            OBJECT_METHODS,
        ),
        QuerySet(
            "development",
            "25 photos of shops, five of them halved, and 30 other emoji, one image of each; asked like "
            "`new-user`, on other backgrounds. Settings were chosen on it.",
            "photos: Grocery (MIT); emoji: Twemoji graphics (CC BY 4.0)",
            development.trials,
            ("everlearn",),
        ),
        QuerySet(
            "development-plain",
            "20 objects of ALOI on black, 10 of ETH-80 on gray levels, 12 characters and 18 printed pages, "
            "one image of each; asked like `development`. Settings were chosen on it, too.",
            "as those of the other sets",
            development_plain.trials,
            ("everlearn",),
        ),
        QuerySet(
            "aloi",
            "800 objects on a turntable, black background.",
            "none stated: research only",
            objects.aloi_trials,
            OBJECT_METHODS,
            upright=True,
        ),
        QuerySet(
            "aloi-4-views",
            "The same 800 objects, taught at 0, 90, 180 and 270 degrees.",
            "none stated: research only",
            objects.aloi_four_trials,
            OBJECT_METHODS,
            upright=True,
            every=31,
        ),
        QuerySet(
            "eth80",
            "80 objects as cut-outs; the other views are asked on 11 photos that are not taught.",
            "none stated: research only",
            objects.eth80_trials,
            OBJECT_METHODS,
            trim=False,
            upright=True,
            every=13,
        ),
        QuerySet(
            "grocery",
            "81 kinds of fruit, vegetables and cartons in shops; 2,485 test photos.",
            "MIT",
            objects.grocery_trials,
            OBJECT_METHODS,
            trim=False,
            upright=True,
            every=5,
        ),
        QuerySet(
            "omniglot-242",
            "242 drawn characters of the two small published sets; exemplars and queries are by other hands.",
            "MIT",
            omniglot.trials_242,
            CHARACTER_METHODS,
            upright=True,
            drawn=True,
        ),
        QuerySet(
            "omniglot-1623",
            "All 1,623 characters are taught; the 901 that no network was trained on are asked.",
            "MIT",
            omniglot.trials_1623,
            ("everlearn", "pixels", "character-network"),
            upright=True,
            every=9,
            drawn=True,
        ),
        QuerySet(
            "omniglot-20",
            "20 evaluation characters, one exemplar each; one hand drew the exemplars, another the queries.",
            "MIT",
            omniglot.trials_20,
            CHARACTER_METHODS,
            upright=True,
            drawn=True,
        ),
        QuerySet(
            "sprites",
            "100 sprites of 64 px, one canonical image each; asked in random poses under nuisances.",
            "made by everlearn",
            sprites.trials,
            SPRITE_METHODS,
        ),
    )
}
