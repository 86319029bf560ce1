"""The query sets by name."""

from benchmarks.photos import new_user, objects
from benchmarks.photos.methods import METHODS
from benchmarks.photos.queries import QuerySet

SETS = {
    query_set.name: query_set
    for query_set in (
        QuerySet(
            "new-user",
            "30 photos and 30 emoji, one image of each; asked on a canvas at all angles, at half to full "
            "size, at any place, under nine conditions.",
            "photos of scikit-image (public domain, CC0 and CC BY, see its data/README), scikit-learn (CC BY) "
            "and matplotlib (public domain, and its licence); emoji: Twemoji graphics (CC BY 4.0)",
            new_user.trials,
            METHODS,
        ),
        QuerySet(
            "aloi",
            "800 objects on a turntable, black background.",
            "none stated: research only",
            objects.aloi_trials,
            METHODS,
        ),
        QuerySet(
            "eth80",
            "80 objects as cut-outs; the other views are asked on 11 photos that are not taught.",
            "none stated: research only",
            objects.eth80_trials,
            METHODS,
        ),
        QuerySet(
            "grocery",
            "81 kinds of fruit, vegetables and cartons in shops; 2,485 test photos.",
            "MIT",
            objects.grocery_trials,
            METHODS,
        ),
    )
}
