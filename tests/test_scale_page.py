from benchmarks.cluster_page import PAGE, with_figures


def test_scale_page_matches_the_results() -> None:
    text = PAGE.read_text()
    assert with_figures(text) == text, "run `python -m benchmarks.cluster_page`"
