// @ts-check
// Whether an element can be acted on, and at which point of its frame.
import * as cb from "cuebook:core";
import {
  act, controlOf, getter, inputType, isConnected, isElement, matches, method, readyState, rectOf, rectsOf,
  rootElement, rootOf, scrollingElement,
} from "./reads.js";
import { boxOf, fragmentsOf, hasArea, isThere } from "./boxes.js";
import { selectorsOf } from "./selectors.js";
import {
  blockerOf, coverOf, draggableWithin, element, frame, hitAt, isPartOfLabel, labelAround, later, pointedWithin, reaches,
  receives,
} from "./common.js";

const BACKOFF = [0, 20, 100, 100, 300];
const ALIGN = ["nearest", "center", "end", "start"];
const scrollTo = method(Element.prototype, "scrollIntoView");
const clientLeft = getter(Element.prototype, "clientLeft");
const clientTop = getter(Element.prototype, "clientTop");
const sameBox = (a, b) => a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
const inView = (point) =>
  point.x >= 0 && point.y >= 0 && point.x < globalThis.innerWidth && point.y < globalThis.innerHeight;
/** Whether no pane that an element lies in cuts a point of it off. */
const isShownAt = (found, { x, y }) => {
  if (!cb.scrollerOf(found)) return true;
  const { x: left, y: top, width, height } = cb.clippedBox(found);
  return x >= left && y >= top && x <= left + width && y <= top + height;
};
/** A part of a fragment that lies in the viewport. */
const clipToView = ({ left, top, right, bottom }) => {
  const x = Math.max(0, left);
  const y = Math.max(0, top);
  return {
    x,
    y,
    width: Math.min(globalThis.innerWidth, right) - x,
    height: Math.min(globalThis.innerHeight, bottom) - y,
  };
};
const within = ({ x, y, width, height }, across, down) => ({ x: x + width * across, y: y + height * down });
/** A stated position counts from the inner edge of the border, as `offsetX` does. */
const stated = (found, position) => {
  const box = boxOf(found);
  const scale = (shown, laid) => (laid > 0 && shown > 0 ? shown / laid : 1);
  const [wide, high] =
    found instanceof HTMLElement
      ? [scale(box.width, offsetWidth(found)), scale(box.height, offsetHeight(found))]
      : [1, 1];
  return { x: box.x + clientLeft(found) * wide + position.x, y: box.y + clientTop(found) * high + position.y };
};
const offsetWidth = getter(HTMLElement.prototype, "offsetWidth");
const offsetHeight = getter(HTMLElement.prototype, "offsetHeight");
const SHARES = [0.5, 0.25, 0.75, 0.1, 0.9];
/** Where to point, best first: the stated position and nothing else, or the middle, or wherever the element shows. */
const pointsOn = (found, position, effort) => {
  if (position) return [stated(found, position)];
  const parts = fragmentsOf(found);
  if (!parts.length) return [within(boxOf(found), 0.5, 0.5)];
  if (effort === "middle") return [within(parts[0], 0.5, 0.5)];
  const shown = parts.map(clipToView).filter(hasArea);
  if (effort === "shown") return shown.slice(0, 5).map((part) => within(part, 0.5, 0.5));
  return shown
    .slice(0, 3)
    .flatMap((part) => SHARES.flatMap((down) => SHARES.map((across) => within(part, across, down))));
};
/**
 * The result of a search for a point. `unsure`: something within the element may take the event, to judge by its looks
 * alone.
 * @typedef {{ fail?: string, by?: any, box?: any, point?: { x: number, y: number }, unsure?: boolean }} Tried
 */
/** What lies over an element, and where. @returns {Tried} */
const coveredBy = (hit, found) =>
  hit
    ? { fail: "covered", by: blockerOf(hit, found), box: boxOf(coverOf(hit, found)) }
    : { fail: "covered", by: "the edge of the page" };
/**
 * The first of these points that receives the event. `effort`: `middle` of the element, of what is `shown` of it, or
 * `any` point.
 * @returns {Tried}
 */
const tryPoints = (found, need, effort) => {
  /** @type {Tried} */
  let failed = { fail: "notInView" };
  let unsure = null;
  const takes = (hit) =>
    need.within ? reaches(found, hit) : receives(found, hit) && !(need.drag && draggableWithin(found, hit));
  for (const point of pointsOn(found, need.position, effort)) {
    if (!inView(point)) continue;
    if (!need.hit) {
      if (effort === "any" || isShownAt(found, point)) return { point };
      continue;
    }
    const hit = hitAt(point.x, point.y);
    if (takes(hit)) {
      if (need.within || !pointedWithin(found, hit)) return { point };
      unsure ??= { point, unsure: true };
      continue;
    }
    if (failed.fail !== "covered")
      failed = coveredBy(hit, found);
  }
  return unsure ?? failed;
};
/**
 * The same, with a point elsewhere where the first is not sure, or not the target's own.
 * @returns {Tried}
 */
const tryBetter = (found, need, effort) => {
  const own = need.hover && !need.position ? tryPoints(found, { ...need, within: false }, "any") : null;
  if (own && !own.fail && !own.unsure) return own;
  const tried = tryPoints(found, need, effort);
  const other = tried.unsure ? tryPoints(found, need, "any") : tried;
  return other.unsure ? tried : other;
};
export const scrollOffset = {
  left: getter(Element.prototype, "scrollLeft"),
  top: getter(Element.prototype, "scrollTop"),
};
export const scrollToOffset = method(Element.prototype, "scrollTo");
/**
 * Scrolls what holds the element until a stated point of it is in view: of something larger than the view, any end
 * may be.
 */
const revealPoint = (found, position) => {
  const page = scrollingElement(document) ?? rootElement(document);
  for (let scroller = cb.scrollerOf(found); ; scroller = scroller === page ? null : cb.scrollerOf(scroller)) {
    const at = scroller ?? page;
    const view =
      at === page ? { x: 0, y: 0, width: globalThis.innerWidth, height: globalThis.innerHeight } : rectOf(at);
    const point = stated(found, position);
    const beyond = (value, from, size) => (value >= from && value < from + size ? 0 : value - from - size / 2);
    const right = beyond(point.x, view.x, view.width);
    const down = beyond(point.y, view.y, view.height);
    if (right || down)
      scrollToOffset(at, {
        left: scrollOffset.left(at) + right,
        top: scrollOffset.top(at) + down,
        behavior: "instant",
      });
    if (at === page) return;
  }
};
/** Scrolls an element into view; what has no box itself, by the first element in it that has one, or by its text. */
const bringIntoView = (found, align) => {
  let boxed = found;
  while (boxed && !rectsOf(boxed).length)
    boxed = cb.childrenOf(boxed).find((child) => isElement(child) && hasArea(boxOf(child)));
  if (boxed) return scrollTo(boxed, { block: align, inline: align, behavior: "instant" });
  const { width, height } = boxOf(found);
  revealPoint(found, { x: width / 2, y: height / 2 });
};
const CONTROL = "button, [role=button], [role=checkbox], [role=radio]";
/** The control whose being enabled decides for an element: the button that it is a part of, or what it labels. */
const controlFor = (found) => {
  for (let up = found; up; up = cb.composedParentOf(up)) if (matches(up, CONTROL)) return up;
  const label = found instanceof HTMLElement ? labelAround(found) : null;
  return (label && isPartOfLabel(label, found) && controlOf(label)) || found;
};
const isInert = (found) => {
  for (let up = found; up; up = cb.parentOf(up)) if (cb.hasAttribute(up, "inert")) return true;
  return false;
};

const animationsOf = (root) => (root instanceof Document ? documentAnimations : shadowAnimations)(root);
const documentAnimations = method(Document.prototype, "getAnimations");
const shadowAnimations = method(ShadowRoot.prototype, "getAnimations");
/** Whether an animation runs that may move an element: its own, or one of what stands around it. */
const isAnimated = (found) => {
  for (let root = rootOf(found); root; root = root instanceof ShadowRoot ? rootOf(root.host) : null) {
    if (!(root instanceof Document || root instanceof ShadowRoot)) return false;
    if (animationsOf(root).some(({ playState }) => playState === "running")) return true;
  }
  return false;
};
/**
 * Whether two frames in a row draw an element in one place. Between frames, the clock of animations runs ahead to the
 * next one.
 */
const standsStill = async (found) => {
  await frame();
  const last = boxOf(found);
  await frame();
  return isConnected(found) && sameBox(last, boxOf(found));
};

/** Settles once nothing in this document is on its way to a place, or after `budget` milliseconds. */
act.rests = async (budget) => {
  const isOnItsWay = ({ playState, effect }) =>
    playState === "running" && effect instanceof KeyframeEffect && effect.getComputedTiming().endTime !== Infinity;
  const roots = () => [document, ...cb.notedRoots()];
  const until = performance.now() + budget;
  await frame();
  while (roots().some((root) => animationsOf(root).some(isOnItsWay)) && performance.now() < until) await later(20);
  await frame();
  return true;
};
/** Whether nobody sees or hits a native box or a button, though it has an area: its label is what is pressed. */
const isTucked = (found) => {
  if (!matches(found, "input[type=checkbox i], input[type=radio i], button[role]")) return false;
  const { width, height } = boxOf(found);
  return width <= 4 || height <= 4 || cb.styleOf(found).pointerEvents === "none";
};
/** What a page draws itself, and works by keys. */
const KEYED = new Set(["slider", "spinbutton", "scrollbar", "separator"]);
/**
 * One round of checks.
 * @returns {Promise<Tried & { ok?: boolean, x?: number, y?: number, box?: any, receiver?: number }>}
 */
const check = async (id, need, round) => {
  const found = element(id);
  if (!found) return { fail: "stale" };
  const isHidden = !isThere(found) || isTucked(found) || cb.editorOf(found);
  const shown = need.standIn && isHidden ? (cb.standInOf(found) ?? found) : found;
  if (need.visible && !isThere(shown)) return { fail: "notVisible" };
  const states = need.enabled || need.editable ? cb.statesOf(found) : {};
  if (need.enabled && (states.disabled || cb.statesOf(controlFor(found)).disabled || isInert(found)))
    return { fail: "notEnabled" };
  const slides = found instanceof HTMLInputElement && inputType(found) === "range";
  if (need.editable && !states.editable && !slides) {
    const takesKeys = KEYED.has(cb.roleOf(found)) && !states.readonly;
    return { fail: states.disabled ? "notEnabled" : takesKeys ? "takesKeys" : "notEditable" };
  }
  if (need.stable) {
    // Animations advance once a frame, so what stands here now is the last frame. The page's own callbacks of the
    // next one may run after ours: what it draws is known once they are done.
    const last = boxOf(shown);
    await frame();
    await later(0);
    if (!isConnected(found)) return { fail: "stale" };
    if (!sameBox(last, boxOf(shown))) return { fail: "notStable" };
    if (isAnimated(shown) && !(await standsStill(shown))) return { fail: isConnected(found) ? "notStable" : "stale" };
  }
  if (!need.scroll) return { ok: true, box: boxOf(shown) };
  let tried = tryBetter(shown, need, "middle");
  if (tried.fail && round > 0) tried = better(tried, tryBetter(shown, need, "shown"));
  if (tried.fail && round < ALIGN.length) {
    const align = ALIGN[round];
    const before = boxOf(shown);
    bringIntoView(shown, align);
    if (need.position) revealPoint(shown, need.position);
    await frame();
    tried = tryBetter(shown, need, "shown");
    if (!tried.fail && need.stable && !sameBox(before, boxOf(shown))) {
      const settled = boxOf(shown);
      await frame();
      if (!sameBox(settled, boxOf(shown))) return { fail: "notStable" };
    }
  }
  // No way of scrolling uncovers the middle: any point where the element itself is hit will do.
  if (tried.fail && round >= ALIGN.length - 1) tried = better(tried, tryBetter(shown, need, "any"));
  if (tried.fail) return tried;
  return { ok: true, x: tried.point.x, y: tried.point.y, box: boxOf(shown), receiver: cb.idOf(shown) };
};
/** The second answer, unless it fails and tells less. */
const better = (first, second) => (!second.fail || first.fail === "notInView" ? second : first);

/** Checks until all holds or `budget` milliseconds are over; the last reason is the answer then. */
act.ready = async (id, need, budget) => {
  const end = performance.now() + budget;
  for (let round = 0; ; round++) {
    const answer = await check(id, need, round);
    const left = end - performance.now();
    if (answer.ok || answer.fail === "stale" || left <= 0) {
      const selectors = answer.ok && need.selectors ? selectorsOf(element(id)) : undefined;
      return { ...answer, selectors, now: performance.now() };
    }
    const patience =
      round < ALIGN.length && (answer.fail === "covered" || answer.fail === "notInView")
        ? 0
        : BACKOFF[Math.min(round, BACKOFF.length - 1)];
    await later(Math.min(left, patience));
  }
};
/** Whether the owner of a child frame is what is hit at a point of this frame. */
act.ownerAt = (id, x, y) => {
  const owner = element(id);
  if (!owner) return { fail: "stale" };
  if (!inView({ x, y })) return { fail: "notInView" };
  const hit = hitAt(x, y);
  return hit === owner ? { ok: true } : coveredBy(hit, owner);
};
act.reveal = (id) => {
  const found = element(id);
  if (!found) return false;
  bringIntoView(found, "center");
  return true;
};
/** Settles once the document has been read to its end, or after `budget` milliseconds. */
act.loaded = (budget) =>
  new Promise((resolve) => {
    const state = () => {
      const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
      return { state: readyState(document), status: entry?.responseStatus ?? 0 };
    };
    if (readyState(document) !== "loading") return resolve(state());
    setTimeout(() => resolve(state()), budget);
    Reflect.apply(EventTarget.prototype.addEventListener, document, [
      "readystatechange",
      () => resolve(state()),
      { once: true },
    ]);
  });
