import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import Factors


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scale": "big"}, "scale is 'big'; it must be a number or a list of numbers"),
        ({"x": [[0.5]]}, r"x has shape \(1, 1\)"),
        ({"y": [np.nan]}, "y contains a value that is not finite"),
        ({"scale": [1.0, 0.0]}, "scale is 0.0; it must be above 0"),
        ({"colour": "red"}, "colour is 'red'; it must be a number"),
        ({"colour": [1.0, 1.0]}, r"colour has shape \(2,\)"),
        ({"colour": [1.0, 1.0, 2.0]}, "colour contains a value outside"),
        ({"x": [0.1, 0.2], "y": [0.1, 0.2, 0.3]}, "different lengths"),
    ],
)
def test_invalid_values_are_rejected(values, message):
    with pytest.raises(BadInput, match=message):
        Factors(**values)


def test_indexing_and_concatenation_are_inverse():
    factors = Factors(scale=[0.5, 1.0, 2.0], x=[0.1, 0.2, 0.3], colour=np.eye(3))
    assert Factors.concatenate(list(factors)) == factors
    assert factors[[2, 0]].scale.tolist() == [2.0, 0.5]
    assert factors[1] == factors[np.array([False, True, False])]
    assert factors != factors[::-1]


def test_scalars_are_broadcast():
    assert Factors(scale=[1.0, 1.0]) == Factors.canonical(2)
    assert len(Factors(scale=[])) == 0
