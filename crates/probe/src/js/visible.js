// @ts-check
// Three ways of being visible: Playwright's (a condition), offered (a candidate), and the share in view.
import {
  bodyElement, characterData, checkVisibility, childNodes, clientHeight, clientRects, clientWidth, closest,
  flatChildren, flatParent, getter, isConnected, isElement, isHtml, lookOf, matches, memo, namespace, newRange,
  nodeType, once, pageScroller, queryAll, rectOf, rootElement, scrollHeight, scrollWidth, styleOf, tagOf, typeOf,
  XHTML,
} from "./tree.js";
import { isNativelyDisabled } from "./roles.js";
import { isHidden, labelsOf } from "./names.js";
import { isAriaDisabled } from "./states.js";
import { boxOfChoice } from "./choosing.js";
import { TEXT_LIMIT } from "./facts.js";

/**
 * A non-empty box and no `visibility: hidden`; opacity does not count.
 * @param {Element} element
 * @returns {boolean}
 */
export const isVisible = (element) => {
  if (!isConnected(element)) return false;
  const style = styleOf(element);
  if (style.display === "contents") {
    for (const child of flatChildren(element)) {
      if (isElement(child) && isVisible(child)) return true;
      if (nodeType(child) === 3 && characterData(child).trim()) {
        const range = newRange(document);
        range.selectNode(child);
        const box = range.getBoundingClientRect();
        if (box.width > 0 && box.height > 0) return true;
      }
    }
    return false;
  }
  if (tagOf(element) === "option" || tagOf(element) === "optgroup") {
    const select = closest(element, "select");
    if (
      select &&
      getter(HTMLSelectElement.prototype, "size")(select) <= 1 &&
      !getter(HTMLSelectElement.prototype, "multiple")(select)
    )
      return isVisible(select);
  }
  if (style.visibility !== "visible" || !checkVisibility(element)) return false;
  const box = rectOf(element);
  return box.width > 0 && box.height > 0;
};

export const boxOf = rectOf;
export const intersect = (a, b) => {
  const x = Math.max(a.x, b.x);
  const y = Math.max(a.y, b.y);
  return {
    x,
    y,
    width: Math.max(0, Math.min(a.x + a.width, b.x + b.width) - x),
    height: Math.max(0, Math.min(a.y + a.height, b.y + b.height) - y),
  };
};
export const hasArea = (box) => box.width > 0 && box.height > 0;
const viewBox = () => {
  const { width, height } = extent();
  return { x: 0, y: 0, width, height };
};
/** The box of an element's padding area, which clips its content. */
const paddingBox = (element) => {
  let area = memo?.padding.get(element);
  if (area) return area;
  const box = rectOf(element);
  const scale = scaleOf(element, box);
  area = {
    x: box.x + clientLeft(element) * scale.x,
    y: box.y + clientTop(element) * scale.y,
    width: clientWidth(element) * scale.x,
    height: clientHeight(element) * scale.y,
  };
  memo?.padding.set(element, area);
  return area;
};
const clientLeft = getter(Element.prototype, "clientLeft");
const clientTop = getter(Element.prototype, "clientTop");
const offsetWidth = getter(HTMLElement.prototype, "offsetWidth");
const offsetHeight = getter(HTMLElement.prototype, "offsetHeight");
const scaleOf = (element, box) => {
  // Only the boxes of HTML are laid out in whole pixels.
  if (namespace(element) !== XHTML) return { x: 1, y: 1 };
  const width = offsetWidth(element);
  const height = offsetHeight(element);
  const near = (ratio) => (Number.isFinite(ratio) && ratio > 0 ? (Math.abs(ratio - 1) < 0.005 ? 1 : ratio) : 1);
  return { x: near(box.width / width), y: near(box.height / height) };
};
const EVERYWHERE = { x: -1e9, y: -1e9, width: 2e9, height: 2e9 };
const NOWHERE = { x: 0, y: 0, width: 0, height: 0 };
const OPEN = { now: EVERYWHERE, before: EVERYWHERE, instead: null };
const flowOf = (position) => (position === "fixed" ? "fixed" : position === "absolute" ? "absolute" : "static");
/**
 * How the ancestors from `start` up clip what is positioned so within them. `now`: the box of what can be
 * seen. `before` and `instead`: what no scrolling can bring back is cut by `before`; `instead`, where it is
 * there, is what remains of the nearest scroller, which represents all that it can scroll to.
 */
const clipFrom = (start, flow) => {
  const chain = [];
  const html = rootElement();
  const body = bodyElement();
  let clip = OPEN;
  for (let up = start; up; up = flatParent(up)) {
    const known = memo?.clip.get(up)?.[flow];
    if (known) {
      clip = known;
      break;
    }
    const look = lookOf(up);
    const root = up === html || up === body;
    const holds =
      !root &&
      (flow === "fixed" ? look.holdsFixed : flow === "absolute" ? look.position !== "static" || look.holdsFixed : true);
    chain.push([up, flow, holds && look.clips ? look : null]);
    if (holds) flow = flowOf(look.position);
  }
  while (chain.length) {
    const [up, asked, look] = chain.pop();
    if (look) {
      const area = paddingBox(up);
      const now = intersect(clip.now, area);
      if (look.scrolls)
        clip = {
          now,
          before: EVERYWHERE,
          instead: area.width < 2 || area.height < 2 ? NOWHERE : reachable(area, clip),
        };
      else clip = { now, before: intersect(area, clip.before), instead: clip.instead };
    }
    if (memo) {
      let known = memo.clip.get(up);
      if (!known) memo.clip.set(up, (known = {}));
      known[asked] = clip;
    }
  }
  return clip;
};
const reachable = (box, clip) => {
  const left = intersect(box, clip.before);
  return hasArea(left) ? (clip.instead ?? left) : NOWHERE;
};
/** What remains of a box after its ancestors' clipping; with `stay`, only what no scrolling can bring back is cut. */
const clipped = (element, box, stay) => {
  const clip = clipFrom(flatParent(element), flowOf(lookOf(element).position));
  return stay ? reachable(box, clip) : intersect(box, clip.now);
};
export const clippedBox = (element) => clipped(element, boxOf(element), false);
/**
 * The share of an element's box that can be seen now: 0 to 1.
 * @param {Element} element
 * @returns {number}
 */
export const shareInView = (element) => {
  const box = boxOf(element);
  if (!hasArea(box)) {
    // A line or a point is in view or not, if it is drawn at all.
    if (!clientRects(element).length) return 0;
    const area = intersect(
      clipped(element, { ...box, width: Math.max(box.width, 1), height: Math.max(box.height, 1) }, false),
      viewBox(),
    );
    return hasArea(area) ? 1 : 0;
  }
  const shown = intersect(clipped(element, box, false), viewBox());
  return Math.min(1, (shown.width * shown.height) / (box.width * box.height));
};

/** How much of an element shines through its own and its ancestors' opacity; 0 where a clip path hides it. */
const fadeOf = (element) => {
  const asked = [];
  let fade = 1;
  for (let up = element; up; up = flatParent(up)) {
    const known = memo?.fade.get(up);
    if (known !== undefined) {
      fade = known;
      break;
    }
    asked.push(up);
  }
  while (asked.length) {
    const one = asked.pop();
    const look = lookOf(one);
    fade *= look.clippedAway ? 0 : look.opacity;
    memo?.fade.set(one, fade);
  }
  return fade;
};
/**
 * Whether a person could see something there, scrolling allowed: the strict definition.
 * @param {Element} element
 * @returns {boolean}
 */
export const isShown = (element) => {
  if (!isVisible(element) || fadeOf(element) < 0.05) return false;
  const box = rectOf(element);
  if ((box.width <= 2 && box.height <= 2) || box.width < 1 || box.height < 1) return false;
  const left = clipped(element, boxOf(element), true);
  if (!hasArea(left) || left.width * left.height <= 4) return false;
  return !isOffPage(element, left);
};
/** The channels and the alpha of a computed colour; `null` for colour spaces other than sRGB. */
const channels = (color) => {
  const [red, green, blue, alpha = 1] = (/^rgba?\(([^)]+)\)$/.exec(color)?.[1] ?? "").split(/[,/\s]+/).map(Number);
  return blue === undefined ? null : { red, green, blue, alpha };
};
const contentType = getter(Document.prototype, "contentType");
const isMedium = getter(MediaQueryList.prototype, "matches");
/** Whether the page may be painted black: its colours say so, or those that plain text or the page is shown in. */
const isCanvasDark = (element) =>
  /dark/.test(styleOf(element).colorScheme) ||
  (isMedium(globalThis.matchMedia("(prefers-color-scheme: dark)")) &&
    (contentType(document) !== "text/html" ||
      Array.from(queryAll(rootElement(), "meta[name=color-scheme i][content*=dark i]")).length > 0));
/** Whether the text of an element is transparent, or has the colour of what is painted behind it. */
const hasNoInk = (element) => {
  const style = styleOf(element);
  const ink = channels(style.webkitTextFillColor);
  if (!ink || style.textShadow !== "none" || parseFloat(style.webkitTextStrokeWidth)) return false;
  for (let up = element; ; up = flatParent(up)) {
    const below = up ? styleOf(up) : null;
    if (below && (below.backgroundImage !== "none" || below.filter !== "none" || below.mixBlendMode !== "normal"))
      return false;
    if (ink.alpha < 0.05) return true;
    const paint = below ? channels(below.backgroundColor) : { red: 255, green: 255, blue: 255, alpha: 1 };
    if (!paint || (!up && isCanvasDark(element))) return false;
    if (paint.alpha === 0) continue;
    const nears = (one, other) => Math.abs(one - other) < 8;
    return (
      paint.alpha === 1 &&
      ink.alpha === 1 &&
      nears(paint.red, ink.red) &&
      nears(paint.green, ink.green) &&
      nears(paint.blue, ink.blue)
    );
  }
};
/**
 * Whether a person could read an element's text, scrolling allowed: not faded out, and not all of it transparent
 * or in the colour behind it. Text before a picture, a gradient or a filter counts as legible.
 * @param {Element} element
 * @returns {boolean}
 */
export const isLegible = (element) => {
  if (!isVisible(element) || fadeOf(element) < 0.05) return false;
  const writing = [element, ...Array.from(queryAll(element, "*")).slice(0, 20)].filter((one) =>
    Array.from(childNodes(one)).some((child) => nodeType(child) === 3 && characterData(child).trim()),
  );
  return !writing.length || !writing.every(hasNoInk);
};
/** How far the page scrolls, and where it is scrolled to. */
const extent = () => {
  if (memo?.extent) return memo.extent;
  const scroller = pageScroller();
  const { innerWidth: width, innerHeight: height, scrollX, scrollY } = globalThis;
  const root = rootElement();
  const found = {
    width,
    height,
    scrollX,
    scrollY,
    pageWidth: Math.max(scroller ? scrollWidth(scroller) : 0, width),
    pageHeight: Math.max(scroller ? scrollHeight(scroller) : 0, height),
    rtl: !!root && styleOf(root).direction === "rtl",
  };
  if (memo) memo.extent = found;
  return found;
};
/** Beyond an edge of the document, where no scrolling leads. */
export const isOffPage = (element, box) => {
  const page = extent();
  const inView = box.x >= 0 && box.y >= 0 && box.x < page.width && box.y < page.height;
  if (inView) return false;
  const fixed = isFixed(element);
  const sx = fixed ? 0 : page.scrollX;
  const sy = fixed ? 0 : page.scrollY;
  if (!page.rtl && box.x + box.width + sx <= 0) return true;
  if (box.y + box.height + sy <= 0) return true;
  return (
    (!page.rtl && box.x + sx >= (fixed ? page.width : page.pageWidth)) ||
    box.y + sy >= (fixed ? page.height : page.pageHeight)
  );
};
const isFixed = (element) => {
  const asked = [];
  let fixed = false;
  for (let up = element; up; up = flatParent(up)) {
    const known = memo?.fixed.get(up);
    if (known !== undefined) {
      fixed = known;
      break;
    }
    asked.push(up);
    if (lookOf(up).position === "fixed") {
      fixed = true;
      break;
    }
  }
  for (const one of asked) memo?.fixed.set(one, fixed);
  return fixed;
};
/** Whether the pointer reaches an element or something in it; what is disabled need not be reached to be known. */
const isReached = (element) => {
  if (styleOf(element).pointerEvents !== "none" || isNativelyDisabled(element) || isAriaDisabled(element)) return true;
  const inner = queryAll(element, "*");
  for (let i = 0; i < inner.length && i < 50; i++)
    if (styleOf(inner[i]).pointerEvents !== "none" && isShown(inner[i])) return true;
  return false;
};
/** What an element without a box of its own (`display: contents`, floating content) shows first. */
const shownWithin = (element) => {
  if (lookOf(element).display !== "contents" && hasArea(rectOf(element))) return null;
  const stack = [element];
  for (let asked = 0; stack.length && asked < 50; asked++) {
    const one = stack.pop();
    if (one !== element && isShown(one)) return one;
    const children = flatChildren(one);
    for (let i = children.length - 1; i >= 0; i--) if (isElement(children[i])) stack.push(children[i]);
  }
  return null;
};
/** Buttons that a page hides and has drawn by their labels, as it does with check boxes. */
const LABELLED = "button:is([role=switch], [role=checkbox], [role=radio])";
/**
 * The box through which an element is seen and used: its own, or that of the element that represents it.
 * @param {Element} element
 * @returns {Element | null}
 */
export const standInOf = (element) => {
  const reached = isReached(element);
  if (reached && isShown(element)) return element;
  const type = typeOf(element);
  if (type === "checkbox" || type === "radio" || type === "file" || matches(element, LABELLED)) {
    for (const label of labelsOf(element)) if (isShown(label) && isReached(label)) return label;
    // A styled control that lies under its wrapper: transparent but as large as what is seen.
    if (reached && isVisible(element) && !lookOf(element).clippedAway) {
      const box = rectOf(element);
      const parent = flatParent(element);
      if (box.width > 4 && box.height > 4 && parent && isShown(parent)) return element;
    }
    return null;
  }
  if (!reached) return null;
  const box = boxOfChoice(element);
  return box && isShown(box) ? box : (editorOf(element) ?? shownWithin(element));
};
const GROWING = new Set(["text", "search", "email"]);
/** A field that is as wide as its text, which is empty. */
const isNarrow = ({ width, height }) => width < 1 && height >= 8;
/**
 * The visible editor that a hidden text area, or a field that grows with its text, takes the input for: the nearest
 * thing around it that is shown and has the pointer of text, as code editors, terminals and fields for tags have it.
 * What stands among other fields is no editor.
 */
export const editorOf = (element) => {
  const isGrowing = isHtml(element, "input") && GROWING.has(typeOf(element)) && isNarrow(rectOf(element));
  if (!(isHtml(element, "textarea") || isGrowing) || isNativelyDisabled(element)) return null;
  if (styleOf(element).visibility !== "visible" || !checkVisibility(element) || isShown(element)) return null;
  for (let up = flatParent(element), depth = 0; up && depth < 4; up = flatParent(up), depth++) {
    if (!isShown(up)) continue;
    for (const other of queryAll(up, "input, select, textarea")) if (other !== element && isVisible(other)) return null;
    if (pointsAtText(up)) return up;
  }
  return null;
};
const pointsAtText = (element) => {
  if (lookOf(element).cursor === "text") return true;
  const inner = queryAll(element, "*");
  for (let i = 0; i < inner.length && i < 100; i++)
    if (lookOf(inner[i]).cursor === "text" && isShown(inner[i])) return true;
  return false;
};
/** What an editor shows, a line for each block; what cannot be selected, such as line numbers, is not its text. */
export const editorText = (editor) => {
  const parts = [];
  let left = TEXT_LIMIT;
  const read = (node, depth) => {
    for (const child of flatChildren(node)) {
      if (left <= 0 || depth > 100) return;
      if (nodeType(child) === 3) {
        const kept = styleOf(node).whiteSpace.startsWith("pre");
        const whole = characterData(child).replace(/[\u200b\ufeff]/g, "");
        const text = (kept ? whole : whole.replace(/\s+/g, " ").replace(/^ $/, "")).slice(0, left);
        left -= text.length;
        parts.push(text);
      } else if (
        isElement(child) &&
        !isHidden(child) &&
        tagOf(child) !== "textarea" &&
        styleOf(child).userSelect !== "none"
      ) {
        const apart = !/^(?:inline|contents)/.test(lookOf(child).display);
        if (apart) parts.push("\n");
        read(child, depth + 1);
        if (apart) parts.push("\n");
      }
    }
  };
  read(editor, 0);
  return parts
    .join("")
    .replace(/\u00a0/g, " ")
    .replace(/\n+/g, "\n")
    .replace(/^\n|\n$/g, "");
};
/**
 * What scrolls an element, short of the page itself.
 * @param {Element} element
 * @returns {Element | null}
 */
export const scrollerOf = (element) => {
  const root = rootElement();
  const body = bodyElement();
  for (let up = flatParent(element); up && up !== root && up !== body; up = flatParent(up)) {
    if (lookOf(up).scrolls && overflows(up)) return up;
  }
  return null;
};
/**
 * Whether an element holds more than it shows.
 * @param {Element} element
 * @returns {boolean}
 */
export const overflows = (element) =>
  scrollHeight(element) > clientHeight(element) + 1 || scrollWidth(element) > clientWidth(element) + 1;
/** The content box of a frame's owner in this frame, and the viewport that its content has. */
export const ownerBox = (element) =>
  once(() => {
    if (!element || !isConnected(element)) return null;
    const box = rectOf(element);
    const scale = scaleOf(element, box);
    const style = styleOf(element);
    const number = (text) => Number.parseFloat(text) || 0;
    const left = clientLeft(element) + number(style.paddingLeft);
    const top = clientTop(element) + number(style.paddingTop);
    const layoutWidth = clientWidth(element) - number(style.paddingLeft) - number(style.paddingRight);
    const layoutHeight = clientHeight(element) - number(style.paddingTop) - number(style.paddingBottom);
    const content = {
      x: box.x + left * scale.x,
      y: box.y + top * scale.y,
      width: layoutWidth * scale.x,
      height: layoutHeight * scale.y,
    };
    return {
      content,
      layoutWidth,
      layoutHeight,
      clip: clipped(element, content, false),
      shown: isVisible(element) && fadeOf(element) >= 0.05,
    };
  });
