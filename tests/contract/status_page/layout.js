// What is wrong with how the page is laid out, as drawn: one line a fault, kind first. No fault: [].
(() => {
  const faults = [], SLACK = 1.5, TEXT_CONTRAST = 4.5, LINE_CONTRAST = 3, SMALLEST_PX = 11;
  const width = document.documentElement.clientWidth;
  const say = (kind, element) =>
    faults.push(`${kind}: ${element.outerHTML.replace(/\s+/g, " ").slice(0, 160)}`);

  const numbers = (colour) => {
    const [r, g, b, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], alpha };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.alpha > 0) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const contrast = (colour, element) => {
    const [low, high] = [luminance(numbers(colour).rgb), luminance(ground(element))].sort(
      (a, b) => a - b,
    );
    return numbers(colour).alpha === 1 ? (high + 0.05) / (low + 0.05) : 0;
  };

  // Every piece of text and every plot that is drawn, with the boxes it takes.
  const drawn = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    if (!node.data.trim()) continue;
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((r) => r.width && r.height);
    if (boxes.length) drawn.set(node, { of: node.parentElement, boxes, text: true });
  }
  for (const plot of document.querySelectorAll("svg")) {
    const box = plot.getBoundingClientRect();
    if (box.width && box.height) drawn.set(plot, { of: plot, boxes: [box], text: false });
  }

  for (const { of, boxes, text } of drawn.values()) {
    if (boxes.some((b) => b.left < -SLACK || b.right > width + SLACK)) say("outside", of);
    if (!text) continue;
    const style = getComputedStyle(of);
    const colour = of.closest("svg") ? style.fill : style.color;
    if (contrast(colour, of) < TEXT_CONTRAST) say("pale", of);
    if (parseFloat(style.fontSize) < SMALLEST_PX) say("small", of);
  }
  for (const line of document.querySelectorAll("svg .line, svg .baseline"))
    if (contrast(getComputedStyle(line).stroke, line) < LINE_CONTRAST) say("pale", line);

  const meet = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > SLACK;
  const apart = (things) => {
    for (let i = 0; i < things.length; i++)
      for (let k = i + 1; k < things.length; k++)
        if (things[i].boxes.some((a) => things[k].boxes.some((b) => meet(a, b))))
          say("overlaps", things[i].of);
  };
  const byRow = new Map();
  for (const [node, thing] of drawn) {
    const svg = thing.text && thing.of.closest("svg");
    if (svg) continue; // words of a plot lie on it
    const place = thing.of.closest("tr, header, .tiles, main > *") || document.body;
    if (!byRow.has(place)) byRow.set(place, []);
    byRow.get(place).push(thing);
  }
  byRow.forEach(apart);
  const blocks = [...document.querySelectorAll("main > *, tr")].map((e) => ({
    of: e, boxes: [e.getBoundingClientRect()],
  })).filter(({ boxes: [b] }) => b.width && b.height);
  for (const { of, boxes: [box] } of blocks) {
    const next = of.nextElementSibling && of.nextElementSibling.getBoundingClientRect();
    if (next && next.height && meet(box, next)) say("overlaps", of);
  }
  return faults;
})()
