from benchmarks.cluster_page import PAGE, with_figures


def test_the_page_on_scale_shows_the_kept_results() -> None:
    text = PAGE.read_text()
    assert with_figures(text) == text, "run `python -m benchmarks.cluster_page`"
