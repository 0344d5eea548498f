// @ts-check
// Whether there is something to look at yet: a page that builds itself by script begins empty.
import * as cb from "cuebook:core";
import { ACTABLE, matches, tagOf } from "cuebook:core";

const LOOKED_AT = 5000;
const PICTURES = "img,svg,canvas,video,iframe,frame,object,embed";
export const NOTHING = 0;
const TO_READ = 1;
const TO_ACT_ON = 2;
const hasText = (element) => {
  if (tagOf(element) === "noscript") return false;
  for (let node = cb.firstChild(element); node; node = cb.nextSibling(node)) {
    if (cb.nodeType(node) === 3 && /\S/.test(cb.characterData(node))) return true;
  }
  return false;
};
/** What the document shows, as far as the first thousands of its elements go. */
export const contentShown = () =>
  cb.once(() => {
    let found = NOTHING;
    let left = LOOKED_AT;
    cb.everyElement((element) => {
      if (--left < 0) return false;
      if (matches(element, ACTABLE)) {
        if (cb.isShown(element)) {
          found = TO_ACT_ON;
          return false;
        }
      } else if (
        found === NOTHING &&
        (matches(element, PICTURES) || tagOf(element).includes("-") || hasText(element)) &&
        cb.isShown(element)
      )
        found = TO_READ;
      return true;
    });
    return found;
  });
/** When the network last brought something, as far as the browser keeps account of it. */
const lastArrival = () => {
  const entries = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind).slice(-250));
  const timings = /** @type {PerformanceNavigationTiming[]} */ (entries);
  return Math.max(0, ...timings.map((entry) => entry.loadEventEnd || entry.responseEnd || 0));
};
/** What has nothing to act on is waited for longer: text alone is often only what stands there until the rest comes. */
const TEXT_QUIET = 500;
/** What has something to act on is not waited for longer than this: it may never be quiet. */
const BUSY = 2000;
/**
 * Settles once the document shows something and has not changed for `quiet` milliseconds, or after `budget`
 * milliseconds. A document without scripts is complete once it is loaded.
 */
export const settle = ({ quiet, budget }) =>
  new Promise((resolve) => {
    const began = performance.now();
    let last = 0;
    const watcher = new MutationObserver(() => {
      last = performance.now();
    });
    watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const isSettled = () => {
      const waited = performance.now() - began;
      if (waited >= budget || isTooDeep(cb.queryAll(document, "*"))) return true;
      const loaded = cb.readyState(document) === "complete";
      if (loaded && !cb.queryAll(document, "script").length && !cb.queryAll(document, "[onload]").length) return true;
      const content = contentShown();
      if (content === NOTHING || (content === TO_ACT_ON && quiet > 0 && waited >= BUSY)) return content !== NOTHING;
      const enough = content === TO_ACT_ON ? quiet : Math.max(quiet, TEXT_QUIET);
      return enough === 0 || (loaded && performance.now() - Math.max(last, lastArrival()) >= enough);
    };
    const look = () => {
      if (!isSettled()) {
        setTimeout(look, 40);
        return;
      }
      watcher.disconnect();
      resolve(true);
    };
    look();
  });

// Chrome's layout recurses: boxes that are nested some thousands deep end the renderer as soon as one is measured.
export const BOXES = 2000;
const SAMPLED = 250;
/**
 * Whether boxes are nested so deeply that nothing in the document can be measured. Styles alone do not need
 * layout.
 */
export const isTooDeep = (all) => {
  for (let i = SAMPLED - 1; i < all.length; i += SAMPLED) {
    let depth = 0;
    for (let up = all[i]; up; up = cb.parentNode(up)) depth++;
    if (depth <= BOXES) continue;
    let boxes = 0;
    for (let up = all[i]; up && cb.nodeType(up) === 1; up = cb.parentNode(up)) {
      const { display } = getComputedStyle(up);
      if (display === "none") {
        boxes = 0;
        break;
      }
      if (display !== "contents") boxes++;
    }
    if (boxes > BOXES) return true;
  }
  return false;
};
