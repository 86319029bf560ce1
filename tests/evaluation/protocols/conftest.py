import pytest

from everlearn.streams import Stream, sprites


@pytest.fixture(scope="session")
def stream() -> Stream:
    return sprites(image_size=16, factor_values=3, classes_per_task=3, held_out=9)
