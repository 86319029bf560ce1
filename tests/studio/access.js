// What a page must keep for everybody, asked of the page itself.
(() => {
  const numbers = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const over = (top, ground) => top.rgb.map((level, i) => level * top.a + ground[i] * (1 - top.a));
  const lit = (rgb) =>
    rgb
      .map((level) => level / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [lit(a), lit(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);
  const ground = (element) =>
    ancestors(element)
      .reverse()
      .map((each) => numbers(getComputedStyle(each).backgroundColor))
      .reduce((below, top) => over(top, below), [255, 255, 255]);
  const opacity = (element) =>
    ancestors(element).reduce((share, each) => share * Number(getComputedStyle(each).opacity), 1);
  const isSeen = (element) =>
    element.checkVisibility({ visibilityProperty: true }) &&
    !element.closest(".unseen, .skip, :disabled") &&
    element.getBoundingClientRect().width > 1;

  function judged(element, words, colour) {
    const style = getComputedStyle(element);
    const below = ground(element);
    const text = over({ ...numbers(colour), a: numbers(colour).a * opacity(element) }, below);
    const isLarge = parseFloat(style.fontSize) >= 24;
    const found = contrast(text, below);
    return found < (isLarge ? 3 : 4.5) ? [`${found.toFixed(2)}: ${words.trim().slice(0, 40)}`] : [];
  }

  /** Texts that are hard to tell from what is behind them, with their contrast. */
  window.pale = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || !isSeen(element)) continue;
      found.push(...judged(element, walker.currentNode.data, getComputedStyle(element).color));
    }
    for (const input of document.querySelectorAll("input[placeholder]"))
      if (isSeen(input)) found.push(...judged(input, input.placeholder, getComputedStyle(input, "::placeholder").color));
    return found;
  };

  /** Everything that keys should reach. */
  window.reachable = () => {
    const inside = document.querySelector("dialog[open]") ?? document;
    const all = inside.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']");
    const isOfGroup = (e) => e.type === "radio" && !e.checked;
    return [...all].filter((e) => !e.disabled && e.checkVisibility() && !isOfGroup(e));
  };

  const reached = new Set();

  /** Remember what has the focus, if it can be seen to have it. */
  window.look = () => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    const isInView = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    if (isMarked && isInView) reached.add(element);
  };

  /** What keys should reach and have not; asked of the page as it is now, which may have grown on the way. */
  window.missed = () => reachable().filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 80));
})();
