// @ts-check
// What changes without a mutation: read again and compared before each walk but the first.
import * as cb from "cuebook:core";
import { hasAttribute, matches, tagOf, typeOf } from "cuebook:core";
import { memory } from "./memory.js";
import { touches } from "./cover.js";
import { isHost, PASSED, renew, renewAll } from "./infos.js";
import { changed, REFERENCES, REFERRING, resort, sortChanges } from "./changes.js";
import { listening } from "./reasons.js";

export const KEPT_LIMIT = 60000;
export const isField = (tag) => tag === "input" || tag === "textarea" || tag === "select";
export const fieldOf = (element, tag) => {
  if (tag === "select")
    return (
      Array.from(cb.selectedOptions(element), (option) => option.index).join() +
      "/" +
      cb.choices(element).length +
      matches(element, ":user-invalid,:disabled")
    );
  const value = `${matches(element, ":user-invalid")} ${cb.valueOf(element) ?? ""}`;
  return tag === "input" ? `${cb.checked(element)} ${cb.indeterminate(element)} ${typeOf(element)} ${value}` : value;
};
const sheetsOf = (root) => {
  let seen = "";
  for (const sheet of cb.sheets(root)) {
    let rules = -1;
    try {
      rules = sheet.cssRules.length;
    } catch {
      /* A sheet of another origin cannot be read. */
    }
    seen += `${rules}${sheet.disabled ? "-" : "+"}`;
  }
  return seen;
};
const focusedElement = () => {
  let focused = cb.focusedIn(document);
  for (let depth = 0; focused && depth < 64; depth++) {
    const root = cb.shadowOf(focused);
    const inner = root && cb.focusedIn(root);
    if (!inner) break;
    focused = inner;
  }
  return focused;
};
/** What the fields hold that others refer to: those that are not shown are measured nowhere else. */
const referredFields = () => {
  let seen = "";
  for (const root of memory.roots)
    for (const element of cb.queryAll(root, REFERRING)) {
      for (const name of REFERENCES)
        if (hasAttribute(element, name))
          for (const target of cb.referenced(element, name)) {
            for (const field of isField(tagOf(target))
              ? [target]
              : Array.from(cb.queryAll(target, "input,textarea,select")).slice(0, 50))
              seen += `${fieldOf(field, tagOf(field))}\0`;
          }
    }
  return seen;
};
export const readSurroundings = () => {
  const scroller = cb.pageScroller();
  return {
    // What all of a page depends on.
    all: [
      cb.baseUri(document),
      globalThis.location?.href,
      globalThis.devicePixelRatio,
      cb.isDesigned(document),
      cb.rootElement(),
      cb.bodyElement(),
      memory.roots.map(sheetsOf).join("|"),
    ],
    width: globalThis.innerWidth,
    height: globalThis.innerHeight,
    pageWidth: scroller ? cb.scrollWidth(scroller) : 0,
    pageHeight: scroller ? cb.scrollHeight(scroller) : 0,
    scroll: `${globalThis.scrollX} ${globalThis.scrollY}`,
    referred: referredFields(),
    focused: focusedElement(),
    title: cb.title(document),
  };
};
/** Whether an element got a shadow root since it was walked. */
const isOtherHost = (info) => info.kids && isHost(info.tag) && info.hosts !== !!cb.shadowOf(info.element);
/** Whether an element reads as it did in the last walk. Of what was shown beyond the view, only what a field holds. */
const looksUntouched = (info, view) => {
  const { element } = info;
  if (info.field !== undefined && info.field !== fieldOf(element, info.tag)) return false;
  if (info.kind === PASSED || !info.style) return true;
  if (!info.shows) return !cb.shows(element);
  if (!touches(info, view)) return true;
  const { x, y, width, height } = cb.boundingRect(element);
  return (
    x === info.x &&
    y === info.y &&
    width === info.width &&
    height === info.height &&
    cb.shows(element) &&
    info.style.cursor === info.cursor &&
    !isOtherHost(info)
  );
};
/** Whether nothing has left a trace since the last walk. */
export const isUntouched = () => {
  const before = memory.surroundings;
  if (changed() || memory.targets.length || !memory.order || !before) return false;
  const { all, ...others } = readSurroundings();
  const view = { x: 0, y: 0, width: others.width, height: others.height };
  return (
    all.every((one, i) => one === before.all[i]) &&
    Object.entries(others).every(([name, one]) => one === before[name]) &&
    !memory.animated.length &&
    !cb.animations(document).length &&
    !panesMoved() &&
    memory.order.every((info) => looksUntouched(info, view))
  );
};
// What an extent that changed makes doubtful: nothing, what was not offered, or all that was decided.
const compareSurroundings = () => {
  const before = memory.surroundings;
  const now = (memory.surroundings = readSurroundings());
  memory.extents = "same";
  if (!before || before.all.some((one, i) => one !== now.all[i])) {
    memory.everything = true;
    return true;
  }
  if (
    now.width !== before.width ||
    now.height !== before.height ||
    now.pageWidth < before.pageWidth ||
    now.pageHeight < before.pageHeight
  )
    memory.extents = "other";
  else if (now.pageWidth !== before.pageWidth || now.pageHeight !== before.pageHeight) memory.extents = "wider";
  const refocused = now.focused !== before.focused;
  if (refocused)
    for (const one of [before.focused, now.focused]) {
      const info = one && memory.infos.get(one);
      if (info) renew(info);
    }
  return (
    refocused ||
    memory.extents !== "same" ||
    now.scroll !== before.scroll ||
    now.title !== before.title ||
    now.referred !== before.referred
  );
};
/** What is being animated may have become transparent; what was until now, too. */
const compareAnimations = () => {
  const now = [];
  for (const animation of cb.animations(document)) {
    const { target } = /** @type {KeyframeEffect} */ (animation.effect) ?? {};
    const info = target && memory.infos.get(target);
    if (info && now.length < 2000) now.push(info);
  }
  const changed = now.length > 0 || memory.animated.length > 0;
  for (const info of new Set([...now, ...memory.animated])) renewAll(info);
  memory.animated = now;
  return changed;
};
/** Box, visibility and cursor of all that was walked; drops what a difference makes doubtful. */
const remeasure = () => {
  let changed = false;
  for (let i = 0; i < memory.order.length; i++) {
    const info = memory.order[i];
    if (info.kind === PASSED || !info.style) continue;
    const { element } = info;
    const rect = cb.boundingRect(element);
    const { x, y, width, height } = rect;
    if (x !== info.x || y !== info.y || width !== info.width || height !== info.height) {
      const emptied = (width > 0 && height > 0) !== (info.width > 0 && info.height > 0);
      info.x = x;
      info.y = y;
      info.width = width;
      info.height = height;
      info.moved = true;
      info.offer = info.countable = undefined;
      if (listening.has(element)) info.fresh = false;
      changed = true;
      if (emptied) renew(info);
    }
    const shows = cb.shows(element);
    const cursor = info.style.cursor;
    if (shows !== info.shows || cursor !== info.cursor) {
      renewAll(info);
      changed = true;
    } else if (info.field !== undefined && info.field !== fieldOf(element, info.tag)) {
      renew(info);
      changed = true;
    } else if (isOtherHost(info)) {
      resort(info);
      changed = true;
    }
  }
  return changed;
};
/** Containers that hold text only have nothing else that would move. */
const panesMoved = () =>
  memory.panes.some(({ element, x, y }) => {
    const now = cb.scrolledTo(element);
    return now.x !== x || now.y !== y;
  });
/** Reads again all that may have changed since the last walk; returns whether anything has. */
export const prepare = () => {
  let changed = sortChanges();
  if (compareSurroundings()) changed = true;
  if (memory.everything || !memory.order) return true;
  if (compareAnimations()) changed = true;
  if (remeasure()) changed = true;
  if (panesMoved()) changed = true;
  if (changed) {
    for (const root of memory.roots)
      for (const element of cb.queryAll(root, REFERRING)) {
        const info = memory.infos.get(element);
        if (info) renew(info);
      }
    for (const info of memory.surrounded) info.row = null;
  }
  return changed;
};
