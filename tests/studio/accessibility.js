// Accessibility checks that run in the page.
(() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const blend = (top, below) => top.rgb.map((level, i) => level * top.a + below[i] * (1 - top.a));
  const luminance = (rgb) =>
    rgb
      .map((level) => level / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);
  const background = (element) =>
    ancestors(element)
      .reverse()
      .map((each) => parse(getComputedStyle(each).backgroundColor))
      .reduce((below, top) => blend(top, below), [255, 255, 255]);
  const opacity = (element) =>
    ancestors(element).reduce((product, each) => product * Number(getComputedStyle(each).opacity), 1);
  const isVisible = (element) =>
    element.checkVisibility({ visibilityProperty: true }) &&
    !element.closest(".visually-hidden, .skip, :disabled") &&
    element.getBoundingClientRect().width > 1;

  function check(element, text, colour) {
    const below = background(element);
    const { rgb, a } = parse(colour);
    const found = contrast(blend({ rgb, a: a * opacity(element) }, below), below);
    const isLarge = parseFloat(getComputedStyle(element).fontSize) >= 24;
    return found < (isLarge ? 3 : 4.5) ? [`${found.toFixed(2)}: ${text.trim().slice(0, 40)}`] : [];
  }

  /** Texts with too little contrast. */
  window.lowContrast = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const [element, text] = [walker.currentNode.parentElement, walker.currentNode.data];
      if (text.trim() && isVisible(element)) found.push(...check(element, text, getComputedStyle(element).color));
    }
    for (const input of document.querySelectorAll("input[placeholder]"))
      if (isVisible(input))
        found.push(...check(input, input.placeholder, getComputedStyle(input, "::placeholder").color));
    return found;
  };

  /** Elements that the keyboard must reach; of a radio group, the selected one. */
  window.focusable = () => {
    const root = document.querySelector("dialog[open]") ?? document;
    const all = root.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']");
    const isUnselected = (element) => element.type === "radio" && !element.checked;
    return [...all].filter((each) => !each.disabled && each.checkVisibility() && !isUnselected(each));
  };

  const reached = new Set();

  /** Notes the focused element, if it is in view with an outline. */
  window.noteFocus = () => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    const isInView = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    if (hasOutline && isInView) reached.add(element);
  };

  /** Elements that have not been reached yet; the page may have grown meanwhile. */
  window.notReached = () =>
    focusable()
      .filter((element) => !reached.has(element))
      .map((element) => element.outerHTML.slice(0, 80));
})();
