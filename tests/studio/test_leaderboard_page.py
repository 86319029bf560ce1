from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.reports.cards import card_of

from .browser import open_page
from .live_server import serve_in_thread


def test_score_cards_are_sorted_by_any_column(browser: Browser, tmp_path: Path) -> None:
    for name, accuracy in (("er", 0.5), ("dcl", 0.9), ("naive", 0.1)):
        card_of(name, accuracy).write(tmp_path / "leaderboard" / "small" / name)
    with serve_in_thread(tmp_path) as studio, open_page(browser, studio, "#/leaderboard") as page:
        names = page.locator("#leaderboard tbody th")
        expect(names).to_have_text(["dcl", "er", "naive"])
        expect(page.locator("#leaderboard tbody tr").first).to_contain_text("not applicable")
        page.get_by_role("button", name="20 tasks").click()
        expect(names).to_have_text(["naive", "er", "dcl"])
        page.get_by_role("button", name="learner").click()
        expect(names).to_have_text(["dcl", "er", "naive"])
        expect(page.locator("th[aria-sort]")).to_have_text("learner")
