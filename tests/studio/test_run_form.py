"""The form for a new run, and the state of runs that start and stop."""

from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from .browser import open_page
from .live_server import Studio


def test_a_preset_fills_the_form_and_an_error_is_shown_beside_its_field(
    browser: Browser, shared_studio: Studio
) -> None:
    with open_page(browser, shared_studio, "#/runs", width=390) as page:
        page.get_by_role("button", name="New run").click()
        page.get_by_text("Settings of sprites").wait_for()
        page.get_by_role("button", name="Quick look").click()
        expect(page.get_by_text("About 25 s on one CPU core.")).to_be_visible()
        n_tasks = page.locator("#setting-n_tasks")
        expect(n_tasks).to_have_value("8")
        n_tasks.fill("16")
        expect(page.get_by_text("About 50 s on one CPU core.")).to_be_visible()
        width = page.locator("#setting-learner-width")
        width.evaluate("input => input.value = 0")  # its group is closed
        page.get_by_role("button", name="Start").click()
        error = page.locator("#setting-learner-width-error")
        expect(error).to_have_text("Width is 0; it must be at least 1.")
        expect(error).to_be_in_viewport()
        expect(width).to_be_focused()
        expect(page.get_by_role("alert").filter(has_text="Not started; see “width”")).to_be_visible()
        page.get_by_role("button", name="My photos").click()
        expect(page.locator("#setting-stream-data")).to_be_focused()
        expect(error).to_be_hidden()


def test_a_run_shows_at_once_that_it_resumes_and_why_it_cannot(
    browser: Browser, studio: Studio, records: Path
) -> None:
    log = records / "nearest" / "events.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    held: list[Route] = []
    with open_page(browser, studio, "#/runs") as page:
        page.route("**/api/runs/resume*", lambda route: held.append(route))
        row = page.locator("#runs tbody tr").filter(has_text="nearest")
        button = row.get_by_role("button", name="Resume nearest")
        expect(row).to_contain_text("stopped")
        button.press("Enter")
        expect(row).to_contain_text("resuming…")
        log.write_bytes(whole)
        (route,) = held
        route.continue_()
        expect(row.get_by_role("alert")).to_have_text("This run is finished.")
        expect(row).to_contain_text("finished")


def test_every_setting_links_to_its_description(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/runs") as page:
        page.get_by_role("button", name="New run").click()
        page.get_by_text("Settings of dcl").click()
        page.get_by_text("Settings of sprites").click()
        page.get_by_text("Other settings").click()
        n_inputs = page.locator(".fields [id^=setting-]:is(input, select)").count()
        expect(page.get_by_role("link", name="More about")).to_have_count(n_inputs)
        with page.expect_popup() as popup:
            page.get_by_role("link", name="More about width").click()
        described = popup.value
        expect(described.locator("h1")).to_have_text("Settings of dcl")
        expect(described.locator("dt.wanted")).to_have_text("learner.width")
        expect(described.locator("dt.wanted + dd")).to_contain_text("default 16, at least 1, at most 512")
        described.get_by_role("link", name="All terms").click()
        described.get_by_role("link", name="Settings of vase").click()
        expect(described.locator("dt").first).to_have_text("learner.environment_inference")
