// What is wrong with the page as it is laid out now: one string per complaint. Nothing is changed.
() => {
  const complaints = new Set();
  const root = document.querySelector("[data-testid=stApp]");
  const main = document.querySelector("[data-testid=stMain]");
  const say = (kind, element, more = "") => {
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 70);
    const name = element.closest("[class*=st-key-]")?.className.match(/st-key-[\w-]+/)?.[0] ?? "";
    complaints.add(`${kind}: "${text}" <${element.tagName.toLowerCase()}` +
      `${element.classList?.[0] ? "." + element.classList[0] : ""}> ${name} ${more}`.trimEnd());
  };
  const seen = (element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    // A closed <details> lays its content out, and shows none of it.
    return element.checkVisibility() && style.visibility !== "hidden" && style.display !== "none" && +style.opacity > 0.05 &&
      box.width > 1 && box.height > 1;
  };
  // The nearest box that clips or scrolls what is in it sideways: itself, or one around it.
  const clipper = (element) => {
    for (let up = element; up; up = up.parentElement) {
      const { overflowX, display } = getComputedStyle(up);
      if (overflowX !== "visible" && display !== "inline") return up;
    }
    return document.documentElement;
  };
  // What of the boxes is to be seen within all that clips or scrolls around an element.
  const within = (element, boxes) => {
    let left = boxes.map(({ left, right, top, bottom }) => ({ left, right, top, bottom }));
    for (let up = element; up && up !== main; up = up.parentElement) {
      const { overflowX, overflowY, display } = getComputedStyle(up);
      if ((overflowX === "visible" && overflowY === "visible") || display === "inline") continue;
      const frame = up.getBoundingClientRect();
      left = left.map((box) => ({
        left: Math.max(box.left, frame.left), right: Math.min(box.right, frame.right),
        top: Math.max(box.top, frame.top), bottom: Math.min(box.bottom, frame.bottom),
      })).filter((box) => box.right - box.left > 1 && box.bottom - box.top > 1);
    }
    return left;
  };

  if (document.documentElement.scrollWidth > innerWidth + 1)
    complaints.add(`page wider than the window: ${document.documentElement.scrollWidth}`);
  if (main && main.scrollWidth > main.clientWidth + 1)
    complaints.add(`main column scrolls sideways: ${main.scrollWidth} > ${main.clientWidth}`);

  for (const alert of root.querySelectorAll("[data-testid=stException]")) say("exception", alert);
  if (/Traceback \(most recent call last\)/.test(root.innerText)) complaints.add("traceback");
  const words = [...root.querySelectorAll("p,td,th,li,h1,h2,figcaption")].filter((e) => !e.querySelector("code"))
    .map((e) => e.innerText).join("\n").match(/.{0,30}(\bNone\b(?! of the)|\bnan\b|\bundefined\b|-0(\.0+)? ).{0,20}/g);
  for (const word of words ?? []) complaints.add(`odd words: "${word}"`);

  const leaves = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element || !seen(element)) continue;
    if (element.matches("details:not([open])")) continue; // a text of its own, which is not shown
    if (element.closest("script,style,canvas,[data-testid=stIconMaterial],svg defs")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
    const shown = within(element, boxes);
    if (shown.length) leaves.push({ node, element, boxes, shown });
  }

  for (const { element, boxes } of leaves) {
    const right = Math.max(...boxes.map((box) => box.right));
    const left = Math.min(...boxes.map((box) => box.left));
    const across = clipper(element);
    const scrolls = /auto|scroll/.test(getComputedStyle(across).overflowX) && across !== main;
    if ((right > innerWidth + 1 || left < -1) && !scrolls && !element.closest("[aria-hidden=true]"))
      say("beyond the window", element, `${Math.round(left)} to ${Math.round(right)}`);
    const own = getComputedStyle(element);
    if (own.overflowX !== "visible" && own.display !== "inline" && element.scrollWidth > element.clientWidth + 1 &&
        !/auto|scroll/.test(own.overflowX) && !(element.title || element.closest("[title]")))
      say("text cut, with no tooltip", element, `${element.scrollWidth} > ${element.clientWidth}`);
    const box = across.getBoundingClientRect();
    if (/hidden|clip/.test(getComputedStyle(across).overflowX) && across !== main &&
        right > box.right + 2 && box.width > 2 && !across.closest("[title]"))
      say("text cut by its container", element, `${Math.round(right - box.right)} px`);
  }

  // Labels over labels: in the dossier, and within one drawing.
  const groups = new Map();
  for (const leaf of leaves) {
    const where = leaf.element.closest(
      "svg, .fs-dossier, .st-key-fs_dossier, [data-testid=stHtml], [data-testid=stMetric]");
    if (!where) continue;
    if (!groups.has(where)) groups.set(where, []);
    groups.get(where).push(leaf);
  }
  for (const [, group] of groups) {
    if (group.length > 900) continue;
    for (let i = 0; i < group.length; i++) for (let j = i + 1; j < group.length; j++) {
      const overlaps = group[i].shown.some((a) => group[j].shown.some((b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5));
      if (overlaps && !group[i].element.closest("[class*=tooltip]"))
        say("labels overlap", group[i].element, `with "${group[j].node.textContent.trim().slice(0, 40)}"`);
    }
  }

  const rgb = (text) => {
    const parts = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return parts.length < 4 ? [...parts, 1] : parts;
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const v = value / 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const over = (front, back) => front.slice(0, 3).map((v, i) => v * front[3] + back[i] * (1 - front[3]));
  for (const { element } of leaves) {
    if (element.closest("svg,button:disabled,[aria-disabled=true]")) continue; // drawn on shapes
    const layers = [];
    let image = false;
    for (let up = element; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.backgroundImage !== "none") image = true;
      const color = rgb(style.backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    if (image) continue;
    let back = [255, 255, 255];
    for (const layer of layers.reverse()) back = over(layer, back);
    const style = getComputedStyle(element);
    const dimmed = Number(style.filter.match(/^brightness\(([\d.]+)\)$/)?.[1] ?? 1);
    const front = over(rgb(style.color), back).map((value) => value * dimmed);
    const [a, b] = [luminance(front), luminance(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 18.6;
    if (ratio < (large ? 3 : 4.5)) say("weak contrast", element, ratio.toFixed(2));
  }
  return [...complaints].sort();
}
