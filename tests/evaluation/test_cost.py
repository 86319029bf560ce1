from everlearn.evaluation import Cost


def test_spending_adds_up_and_holding_does_not() -> None:
    tasks = [Cost(1.5, 100, 1e9, 400, 10 * k) for k in range(1, 5)]
    assert sum(tasks) == Cost(6.0, 400, 4e9, 400, 40)
    assert sum(tasks) == sum(reversed(tasks))
    assert sum(tasks[2:], start=sum(tasks[:2], Cost())) == sum(tasks)


def test_nothing_costs_nothing() -> None:
    assert Cost() + Cost(1.0, 2, 3.0, 4, 5) == Cost(1.0, 2, 3.0, 4, 5)
    assert Cost(weight_bytes=3, memory_bytes=4).bytes == 7


def test_per_task() -> None:
    assert Cost(6.0, 400, 4e9, 400, 40).per_task(4) == Cost(1.5, 100.0, 1e9, 400, 40)
