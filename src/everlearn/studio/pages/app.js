// Selects the page to show by the part of the address after #.

import { hasToken, isPhone } from "./api.js";
import { emptyState, errorBox, fill, h } from "./dom.js";

const PAGES = {
  runs: { title: "Runs", file: "runs" },
  sprites: { title: "Sprites", file: "sprites" },
  memory: { title: "Memory", file: "memory" },
  try: { title: "Try it", file: "recognition" },
  watch: { title: "Watch it forget", file: "watch" },
  leaderboard: { title: "Leaderboard", file: "leaderboard" },
  glossary: { title: "Glossary", file: "glossary" },
  vase: { title: "VASE", file: "vase" },
};

const PHONE_PAGE = "try";

let leavePage = () => {};
let navigation = 0;

async function showPage() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const name = isPhone ? PHONE_PAGE : path in PAGES ? path : "runs";
  const current = ++navigation;
  leavePage();
  leavePage = () => {};
  markCurrent(name);
  const errors = errorBox();
  const content = h("div", {});
  fill(document.getElementById("page"), errors.box, content);
  if (!hasToken()) return void fill(content, missingToken());
  await errors.attempt(async () => {
    const page = await import(`./${PAGES[name].file}.js`);
    const leave = (await page.show(content, new URLSearchParams(query ?? ""))) ?? (() => {});
    if (current === navigation) leavePage = leave;
    else leave();
  });
}

function missingToken() {
  const text =
    "Open the whole address that `everlearn studio` printed in the terminal; it contains the access token.";
  return emptyState("The address is incomplete", h("p", {}, text));
}

function markCurrent(name) {
  document.title = `${PAGES[name].title} – everlearn studio`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Stores the selected theme and notifies figures, which are canvases, about changes. */
function setUpTheme() {
  const notify = () => dispatchEvent(new Event("themechange"));
  for (const radio of document.querySelectorAll("[name=theme]")) {
    radio.checked = radio.id === (localStorage.getItem("theme") ?? "auto");
    radio.addEventListener("change", () => {
      localStorage.setItem("theme", radio.id);
      notify();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", notify);
}

/** A phone may open one page only. */
function setUpPages() {
  for (const link of document.querySelectorAll("nav a"))
    link.hidden = isPhone && link.getAttribute("href") !== `#/${PHONE_PAGE}`;
}

/** The part of the address after # selects a page, so the skip link must not change it. */
function setUpSkipLink() {
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("page").focus();
  });
}

setUpTheme();
setUpPages();
setUpSkipLink();
addEventListener("hashchange", showPage);
showPage();
