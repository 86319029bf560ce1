// Which page is shown: the part of the address after #.

import { hasToken } from "./ask.js";
import { complaints, empty, fill, h } from "./dom.js";

const PAGES = { runs: "Runs", sprites: "Sprites", memory: "Memory", try: "Try it", vase: "VASE" };
const FILES = { runs: "runs", sprites: "sprites", memory: "memory", try: "trying", vase: "vase" };

let leave = () => {};
let turn = 0;

async function show() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const name = path in PAGES ? path : "runs";
  const mine = ++turn;
  leave();
  leave = () => {};
  mark(name);
  const main = document.getElementById("page");
  const trouble = complaints();
  const room = h("div", {});
  fill(main, trouble.box, room);
  if (!hasToken()) {
    fill(
      room,
      empty(
        "The address is not complete",
        h(
          "p",
          {},
          "Open the whole address that `everlearn studio` printed in the terminal; its token is the key to this page.",
        ),
      ),
    );
    return;
  }
  await trouble.attempt(async () => {
    const page = await import(`./${FILES[name]}.js`);
    const left = await page.show(room, new URLSearchParams(query ?? ""));
    if (mine === turn) leave = left ?? (() => {});
    else left?.();
  });
}

function mark(name) {
  document.title = `${PAGES[name]} – everlearn studio`;
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = link.getAttribute("href") === `#/${name}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function keepLook() {
  for (const radio of document.querySelectorAll("[name=look]")) {
    radio.checked = radio.id === (localStorage.getItem("look") ?? "auto");
    radio.addEventListener("change", () => {
      localStorage.setItem("look", radio.id);
      dispatchEvent(new Event("look"));
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    dispatchEvent(new Event("look")),
  );
}

/** The address after # names a page here, so the way past the links must not be an address. */
function keepSkip() {
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("page").focus();
  });
}

keepLook();
keepSkip();
addEventListener("hashchange", show);
show();
