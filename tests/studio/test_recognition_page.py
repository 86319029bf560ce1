"""The pages "Try it" and "VASE" in a browser: sources of images, teaching, and latents."""

import base64
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from everlearn.runs import Record
from everlearn.runs.memory_edit import load_run
from everlearn.studio.model_views import environment_learner, reconstructions, task_image

from .browser import COMMANDS, draw_shape, open_page
from .live_server import Studio, wait_until

CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
SEND = """(canvas, [kind, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], "x.png", { type: "image/png" }));
  const event = kind === "drop" ? new DragEvent(kind, { dataTransfer: transfer, bubbles: true })
    : new ClipboardEvent(kind, { clipboardData: transfer, bubbles: true });
  canvas.dispatchEvent(event);
}"""
COLOUR = "canvas => [...canvas.getContext('2d').getImageData(128, 128, 1, 1).data].slice(0, 3)"


def send_image(page: Page, kind: str, colour: tuple[int, int, int]) -> None:
    """Drop or paste an image of one colour and wait until it is shown."""
    file = io.BytesIO()
    Image.new("RGB", (20, 20), colour).save(file, "png")
    canvas = page.locator(".image-canvas")
    canvas.evaluate(SEND, [kind, base64.b64encode(file.getvalue()).decode()])
    wait_until(lambda: canvas.evaluate(COLOUR) == list(colour))


def test_images_are_dropped_pasted_and_cleared(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/try?record=dcl") as page:
        page.get_by_role("button", name="Random exemplar").click()
        expect(page.locator(".prediction")).to_be_visible()
        expect(page.get_by_role("radio", name="Move")).to_be_checked()
        send_image(page, "drop", (200, 10, 10))
        send_image(page, "paste", (10, 200, 10))
        expect(page.locator("section li")).to_have_count(3)
        page.get_by_label("Angle").fill("1")
        page.get_by_role("button", name="Clear").click()
        expect(page.get_by_text("The prediction for the image appears here.")).to_be_visible()
        expect(page.get_by_role("radio", name="Outline")).to_be_checked()
        expect(page.get_by_label("Angle")).to_have_value("0")
        page.get_by_role("button", name="Add to memory").click()
        expect(page.get_by_role("form", name="Teach").get_by_role("alert")).to_contain_text("Draw something")
        page.get_by_title("Ask again").last.click()
        expect(page.locator(".prediction")).to_be_visible()


def test_an_untouched_exemplar_is_asked_as_it_is_stored(browser: Browser, shared_studio: Studio) -> None:
    memory = shared_studio.get("/api/memory", record="dcl").json()["classes"]
    stored = [
        shared_studio.get("/api/memory/image.png", record="dcl", label=each["label"]).content
        for each in memory
    ]
    with open_page(browser, shared_studio, "#/try?record=dcl") as page:
        page.get_by_role("button", name="Random exemplar").click()
        asked = page.locator("section li img").get_attribute("src") or ""
        assert base64.b64decode(asked.removeprefix("data:image/png;base64,")) in stored
        expect(page.get_by_text("Novelty 0.00")).to_be_visible()


def test_an_unknown_thing_is_taught_and_tested_in_three_poses(browser: Browser, studio: Studio) -> None:
    with open_page(browser, studio, "#/try?record=dcl") as page:
        draw_shape(page)
        page.get_by_label("Novelty threshold").fill("0")
        expect(page.locator(".prediction")).to_have_text("Unknown")
        expect(page.get_by_text("What is it?")).to_be_visible()
        name = page.get_by_placeholder("class name")
        name.fill("kite")
        name.press("Enter")
        expect(page.locator("#taught figure")).to_have_count(4)
        page.get_by_label("Novelty threshold").fill("1")
        expect(page.locator(".prediction")).to_have_text("kite")
        expect(page.get_by_text("What is it?")).to_be_hidden()
        expect(page.locator(".comparison").first).to_contain_text("Best: kite, in this pose")
        page.get_by_role("button", name="Add to memory").click()
        expect(page.get_by_role("form", name="Teach").get_by_role("alert")).to_contain_text("kite is known")


def test_the_camera_takes_a_photo(shared_studio: Studio, browser: Browser) -> None:
    command = browser.browser_type
    with_camera = command.launch(executable_path=find_chromium(), args=["--no-sandbox", *CAMERA])
    with open_page(with_camera, shared_studio, "#/try?record=dcl") as page:
        page.get_by_role("button", name="Camera").click()
        page.get_by_role("button", name="Take photo").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator(".prediction")).to_be_visible()
    with_camera.close()
    with open_page(browser, shared_studio, "#/try?record=dcl") as page:  # without permission
        page.get_by_role("button", name="Camera").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no access to a camera")


def find_chromium() -> str | None:
    return next((path for name in COMMANDS if (path := shutil.which(name))), None)


def test_a_latent_is_changed_in_every_environment(
    browser: Browser, vase_studio: Studio, vase_records: Path
) -> None:
    changes = vase_studio.get("/api/environments", record="vase").json()["changes"]
    inferred = ", then ".join(f"environment {index}" for index in (0, *(to for _, to in changes)))
    with open_page(browser, vase_studio, "#/vase") as page:
        image = page.locator(".thumbnails img").nth(1)
        before = image.get_attribute("src")
        expect(page.locator("#latents tbody tr")).not_to_have_count(0)
        expect(page.get_by_role("img", name="Trained on: sprites, then inverted-sprites")).to_be_visible()
        expect(page.locator(".timeline div").nth(1)).to_have_attribute("aria-label", f"Inferred: {inferred}")
        page.get_by_label("Change").select_option(index=1)
        page.get_by_label("Value", exact=True).fill("2.5")
        wait_until(lambda: image.get_attribute("src") != before)
    run = load_run(Record(vase_records / "vase"))
    learner, shown = environment_learner(run.learner), task_image(run, 0, 0)
    plain, changed = (reconstructions(learner, shown, 0, change) for change in (None, (0, 2.5)))
    assert (changed["latents"][0], changed["latents"][1:]) == (2.5, plain["latents"][1:])
    route = "/api/environments/reconstructions"
    for query in ({"latent": 99}, {"latent": -1}, {"latent": 0, "value": 1e9}):
        assert vase_studio.post(route, bytes(1024), record="vase", **query).status_code in (400, 404)
