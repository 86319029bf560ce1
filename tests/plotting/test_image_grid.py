import numpy as np

from everlearn.plotting.image_grid import GAP_GRAY, add_gaps, grids_height, n_square_tiles


def test_gaps_are_gray_and_tiles_unchanged() -> None:
    image = np.arange(32, dtype=np.uint8).reshape(4, 8)
    page = add_gaps(image, 1, 2)
    assert page.shape == (6, 11, 3)
    np.testing.assert_array_equal(page[1:5, 6:10, 1], image[:, 4:])
    assert (page[:, 5] == GAP_GRAY).all()
    assert n_square_tiles(image, 1) == 2


def test_three_grids_in_a_row() -> None:
    assert grids_height(3, 5) == grids_height(1, 5)
    assert grids_height(4, 5) == 2 * grids_height(1, 5)
