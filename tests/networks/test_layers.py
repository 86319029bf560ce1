import torch

from everlearn.networks.layers import GrowingHead


def test_growing_head_keeps_old_logits() -> None:
    head = GrowingHead(n_features=4, capacity=2)
    assert not head.add_labels([10**12, 7])
    with torch.no_grad():
        head.weight.normal_()
    before = head(torch.ones(1, 4))
    assert head.add_labels([5, 7, 6])
    assert head.labels == [10**12, 7, 5, 6]
    after = head(torch.ones(1, 4))
    assert torch.equal(after[:, :2], before)
    assert (after[:, 2:] == 0).all()
    assert head.class_indices([7, 5, 10**12]).tolist() == [1, 2, 0]
