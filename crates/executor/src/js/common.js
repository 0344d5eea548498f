// @ts-check
// What a gesture at a point is for: elements, labels, controls, and what stands in the way.
import * as cb from "cuebook:core";
import {
  act, activeInDocument, attr, childNodes, controlOf, getter, hitIn, isConnected, isElement, matches, newRange,
  nodeType, pathOf, queryWithin, rectOf, rootElement, rootOf, tagOf, visibility,
} from "./reads.js";
import { boxOf, hasArea, rangeRects } from "./boxes.js";

export const element = (id) => {
  const found = cb.byId(id);
  return found && isConnected(found) ? found : null;
};
export const later = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
/** The next animation frame; a hidden tab draws none, so a timer stands in. A busy browser draws one late. */
export const frame = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => resolve());
    setTimeout(resolve, visibility(document) === "hidden" ? 120 : 1000);
  });

/** An element in short: `dialog "Newsletter"`, `div#overlay`, `span.badge`. */
export const describe = (found) => {
  if (!isElement(found)) return "the document";
  const role = cb.roleOf(found);
  if (role === "dialog" || role === "alertdialog") {
    const name = cb.nameOf(found);
    if (name) return cb.cut(`${role} ${JSON.stringify(name)}`, 200);
  }
  const id = attr(found, "id");
  const name = (attr(found, "class") ?? "").trim().split(/\s+/)[0];
  return cb.cut(tagOf(found) + (id ? `#${id}` : name ? `.${name}` : ""), 200);
};
/** What stands in the way: of what was hit, the outermost part that does not hold the target. */
export const coverOf = (hit, target) => {
  let blocker = hit;
  for (let up = hit; up && !cb.contains(up, target); up = cb.parentOf(up)) {
    blocker = up;
    const role = cb.roleOf(up);
    if (role === "dialog" || role === "alertdialog") break;
  }
  return blocker;
};
export const blockerOf = (hit, target) => describe(coverOf(hit, target));

export const labelAround = (inner) => {
  for (let up = inner; up; up = cb.composedParentOf(up)) if (up instanceof HTMLLabelElement) return up;
  return null;
};
export const INTERACTIVE =
  "button, a[href], summary, option, [role=button], [role=link], [role=option], [role=menuitem], " +
  "[role=menuitemcheckbox], [role=menuitemradio], [role=tab], [role=checkbox], [role=radio], [role=switch], " +
  "[role=treeitem]";
export const closestInteractive = (inner) => {
  for (let up = inner; up; up = cb.composedParentOf(up)) if (matches(up, INTERACTIVE)) return up;
  return null;
};
const FIELDS = "input:not([type=hidden i]), select, textarea, [contenteditable]:not([contenteditable=false i])";
const NATIVE = "a[href], button, input, summary, label, option";
/** What a control says that it opens. */
export const openedBy = (control) => ["aria-controls", "aria-owns"].flatMap((name) => cb.referenced(control, name));
/** The elements from `inner` up to `outer`, without the latter; none if it is not within. */
const between = (outer, inner) => {
  for (const next of [cb.parentOf, cb.composedParentOf]) {
    const path = [];
    for (let up = inner; up; up = next(up)) {
      if (up === outer) return path;
      path.push(up);
    }
  }
  return [];
};
const CHOOSERS = "[role=checkbox], [role=radio], [role=switch], input[type=checkbox i], input[type=radio i]";
const areaOf = ({ width, height }) => width * height;
export const sameWords = (a, b) => a !== "" && a === b;
/**
 * Whether a control within the target is what the target consists of: the link of a menu item, the field of a combo
 * box. It has most of the target's area, so that nothing that only appears in a corner of it counts.
 */
const standsFor = (target, inner) => {
  if (areaOf(rectOf(inner)) < 0.6 * areaOf(boxOf(target))) return false;
  const name = cb.nameOf(target);
  const text = cb.textOf(target);
  if (fieldOf(target) === inner || sameWords(cb.nameOf(inner), name)) return true;
  // A symbol to choose by, such as a star, has no words, and neither has what holds nothing else.
  if (!name && !text) return matches(inner, CHOOSERS) && queryWithin(target, INTERACTIVE).length === 1;
  // An element with a name is not described by its text.
  return (!name || name === text) && sameWords(cb.textOf(inner), text);
};
/** The words of a text, without marks such as a tick or an arrow. */
export const lettersIn = (text) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
/** Whether something within the target says all that the target is called, and is more than a corner of it. */
const saysAll = (target, inner) =>
  areaOf(rectOf(inner)) >= 0.25 * areaOf(boxOf(target)) &&
  sameWords(lettersIn(cb.ownText(inner, 200)), lettersIn(cb.nameOf(target)));
/** Whether a control is worked through a label that makes up the target: a click there arrives at the control, too. */
const isWorkedThrough = (target, control) =>
  cb
    .labelsOf(control)
    .some((label) => label !== target && cb.contains(target, label) && standsFor(target, label));
/** The control within `target` that an activation at `hit` is for, and not for the target: null if there is none. */
export const controlWithin = (target, hit) => {
  const isNative = matches(target, NATIVE);
  const own = target instanceof HTMLLabelElement ? controlOf(target) : null;
  for (const up of between(target, hit)) {
    if (
      up === own ||
      (tagOf(target) === "select" && tagOf(up) === "option") ||
      (tagOf(target) === "details" && tagOf(up) === "summary")
    )
      continue;
    const labelled = up instanceof HTMLLabelElement ? controlOf(up) : null;
    const isOther = labelled && labelled !== own && labelled !== target;
    const isControl = isOther || matches(up, INTERACTIVE) || matches(up, FIELDS);
    if (!isControl && (isNative || !matches(up, "[onclick]"))) continue;
    if (own || !(standsFor(target, up) || isWorkedThrough(target, up))) return up;
  }
  return null;
};
/** Whether something within the target looks clickable while the target does not: it may have its own listener. */
export const pointedWithin = (target, hit, isCounted = (_) => true) => {
  const isPointed = (found) => cb.styleOf(found).cursor === "pointer";
  if (matches(target, NATIVE) || !cb.contains(target, hit) || isPointed(target)) return false;
  const pointed = between(target, hit).filter(isPointed);
  // What is in the part that makes up the target has its pointer from there.
  const at = pointed.findLastIndex((up) => standsFor(target, up) || saysAll(target, up));
  return pointed.slice(at + 1).some(isCounted);
};
/** What a drag would take along in place of the target. */
export const draggableWithin = (target, hit) =>
  matches(target, DRAGGABLE) && between(target, hit).some((up) => matches(up, DRAGGABLE));
const DRAGGABLE = "[draggable=true i]";
/** Whether a click there would do something: a control, a field or another frame. */
export const takesClicks = (hit) =>
  !!closestInteractive(hit) ||
  !!labelAround(hit) ||
  matches(hit, "input, select, textarea, iframe, frame, object, embed, [contenteditable], [onclick], [tabindex]");
/** Whether an event at `hit` goes to `target`: within it, or between a label and its control. */
export const reaches = (target, hit) => {
  if (!isElement(hit)) return false;
  if (cb.contains(target, hit)) return true;
  const label = labelAround(hit);
  const control = label && controlOf(label);
  if (control && cb.contains(target, control)) return true;
  const own = labelAround(target);
  const owned = own && controlOf(own);
  if (owned && isPartOfLabel(own, target) && (hit === own || cb.contains(owned, hit))) return true;
  // All of a control is one: a part of it that lets the pointer through, or lies under another part.
  for (let up = target; up; up = cb.composedParentOf(up)) {
    if (matches(up, INTERACTIVE)) return closestInteractive(hit) === up;
    if (up !== target && tagOf(up) === "select") return hit === up;
  }
  if (isWorkedThrough(target, hit)) return true;
  const box = cb.boxOfChoice(target);
  return !!box && cb.contains(box, hit) && !between(box, hit).some((up) => matches(up, PICTURED));
};
/** What is drawn in the box of a field for choosing and may mean something by itself, such as what removes a choice. */
const PICTURED = "svg, img, i, [onclick]";
/** Whether a click on something in a label is one for the label's control: not on a link, nor on another field. */
export const isPartOfLabel = (label, inner) => {
  const control = controlOf(label);
  return !between(label, inner).some((up) => up !== control && (matches(up, INTERACTIVE) || matches(up, FIELDS)));
};
/** Whether a press at `hit` activates `target`, and nothing else that lies within it. */
export const receives = (target, hit) => {
  if (!reaches(target, hit)) return false;
  if (cb.contains(target, hit)) return !controlWithin(target, hit);
  const label = labelAround(hit);
  return !label || hit === label || isPartOfLabel(label, hit);
};
/**
 * Whether keys that arrive at `origin` are for `target`: not those for a field within it that did not have the focus
 * before.
 */
export const receivesKeys = (target, origin, holder) => {
  if (!reaches(target, origin)) return false;
  const field = fieldOf(target);
  return !between(target, origin).some((up) => up !== field && up !== holder && matches(up, FIELDS));
};
/**
 * The slot through which the text of a host shows at a point: an event there is one for the slot, though the browser
 * names the host.
 */
const slotAt = (host, x, y) => {
  if (!cb.shadowOf(host)) return null;
  for (const node of childNodes(host)) {
    if (nodeType(node) !== 3) continue;
    const slot = cb.parentOf(node);
    if (!slot || slot === host) continue;
    const range = newRange(document);
    range.selectNode(node);
    const isThere = ({ left, top, right, bottom }) => x >= left && x < right && y >= top && y < bottom;
    if (Array.from(rangeRects(range)).some(isThere)) return slot;
  }
  return null;
};
/** The innermost element at a point. */
export const hitAt = (x, y) => {
  const hit = cb.elementAt(x, y);
  return (hit && slotAt(hit, x, y)) ?? hit;
};
/** The innermost element of an event, through closed roots that are known. */
export const originOf = (event) => {
  let origin = pathOf(event)[0];
  if (!isElement(origin)) return rootElement(document);
  for (let depth = 0; depth < 64; depth++) {
    const root = cb.shadowOf(origin);
    if (!root || root.mode !== "closed") break;
    const inner = event instanceof MouseEvent ? hitIn(root, event.clientX, event.clientY) : cb.focusedIn(root);
    if (!inner || rootOf(inner) !== root) break;
    origin = inner;
  }
  return (event instanceof MouseEvent && slotAt(origin, event.clientX, event.clientY)) || origin;
};
/** The element that has the focus, through shadow roots. */
export const activeElement = () => {
  let active = activeInDocument(document);
  for (let depth = 0; active && depth < 64; depth++) {
    const root = cb.shadowOf(active);
    const inner = root && cb.focusedIn(root);
    if (!inner) break;
    active = inner;
  }
  return active;
};
export const editable = getter(HTMLElement.prototype, "isContentEditable");
export const EDITABLE = "input, textarea, select, [contenteditable]:not([contenteditable=false i])";
const BOXED = "[role=checkbox][aria-checked], [role=radio][aria-checked], [role=switch][aria-checked]";
/** The element that text goes into: the target, its label's control, or the only field within it. */
export const fieldOf = (target) => {
  if (target instanceof HTMLLabelElement) return controlOf(target) ?? target;
  if (!(target instanceof HTMLElement) || matches(target, `html, body, ${EDITABLE}`) || editable(target)) return target;
  // A box that says whether it is checked may keep a field for its form.
  if (matches(target, BOXED)) return target;
  const inner = queryWithin(target, FIELDS);
  return inner.length === 1 ? inner[0] : target;
};
act.origin = () => String(globalThis.origin);

const examined = new WeakSet();
const HOSTS =
  "article, aside, blockquote, body, div, footer, h1, h2, h3, h4, h5, h6, header, main, nav, p, section, span";
/** Elements that may hold a closed shadow root, each returned once; only the wire can look into them. */
act.suspects = (limit) => {
  const found = [];
  cb.everyElement((host) => {
    if (found.length >= limit) return false;
    if (examined.has(host) || cb.shadowOf(host) || !(tagOf(host).includes("-") || matches(host, HOSTS))) return;
    // What stands in a host beside its shadow root shows only through slots.
    if (!tagOf(host).includes("-") && (cb.firstChild(host) || !hasArea(rectOf(host)))) return;
    examined.add(host);
    found.push(host);
  });
  return found;
};
