// @ts-check
// What only the pointer made visible, and what it was over then.
import * as cb from "cuebook:core";
import { ACTED_ON, actedOn, described, send } from "./report.js";

const MOST_LOOKED_AT = 3000;
const MOST_LEVELS = 4;
/** What comes later than these milliseconds after the pointer has other reasons. */
const RESTS = 700;
/** Something that a pointer is over as a whole. */
const unitOf = (element) => {
  const item = cb.closest(element, "li,[aria-haspopup],[role=menuitem]");
  return actedOn(element) ?? item ?? element;
};

/** Controls that were visible when it was last looked; null before the document is loaded. */
let shown = null;
/** What the pointer is over, since when, and whether something was pressed since. */
let over = null;
/** Something was pressed since it was last looked. */
let isStale = false;
/** Where the pointer was last. */
let place = "";
const placeOf = (event) => `${event.screenX} ${event.screenY}`;
/** By a control that the pointer revealed: what the pointer was over, as it was before. */
const revealed = new WeakMap();

const visible = () => {
  const now = new Set();
  let seen = 0;
  for (const element of cb.queryAll(document, ACTED_ON)) {
    if (++seen > MOST_LOOKED_AT) break;
    if (cb.shows(element)) now.add(element);
  }
  return now;
};
/** Looks what is visible. What came while the pointer rests somewhere, and nothing was pressed, the pointer revealed. */
export const look = () => {
  if (cb.readyState(document) !== "complete") return;
  const now = visible();
  isStale = false;
  shown ??= now;
  const by = over && !over.isPressed && performance.now() - over.at < RESTS ? over : null;
  let came = false;
  for (const element of now) {
    if (shown.has(element)) continue;
    if (by && element !== by.unit) {
      revealed.set(element, by);
      came = true;
    } else revealed.delete(element);
  }
  for (const element of shown) if (!now.has(element)) revealed.delete(element);
  shown = now;
  if (came) send({ what: "changed" });
};

export const onMove = (event) => {
  place = placeOf(event);
};
export const onOver = (event, element) => {
  const unit = unitOf(element);
  if (over?.unit === unit) return;
  // What comes under a pointer that rests was not revealed by it.
  const hasMoved = placeOf(event) !== place;
  onMove(event);
  over = null;
  if (!hasMoved) return;
  if (isStale) look();
  // While a document is loaded, what comes is its own.
  if (!shown) return;
  const here = (over = { unit, seen: described(unit), at: performance.now(), isPressed: false });
  const again = () => over === here && look();
  requestAnimationFrame(again);
  for (const wait of [120, 400]) setTimeout(again, wait);
};
export const onPress = (event) => {
  onMove(event);
  isStale = true;
  if (over) over.isPressed = true;
};
/** What the pointer had to be over, outermost first, for an element to be visible. */
export const revealersOf = (element) => {
  const chain = [];
  let by = revealed.get(unitOf(element));
  while (by && cb.isConnected(by.unit) && chain.length < MOST_LEVELS) {
    chain.unshift(by.seen);
    by = revealed.get(by.unit);
  }
  return chain;
};
