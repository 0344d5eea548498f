// @ts-check
// The nearest candidate to a text or an element that cannot be acted on.
import * as cb from "cuebook:core";
import { ACTABLE, cut, tagOf } from "cuebook:core";
import { reasonOf } from "./reasons.js";

export const actable = (element) => reasonOf(element, tagOf(element), true) !== "";
/** The number of the thing to act on that stands nearest: around, or within the same row, item or block. */
export const nearest = (element) => {
  for (let up = cb.parentOf(element), depth = 0; up && depth < 30; up = cb.parentOf(up), depth++)
    if (actable(up)) return cb.idOf(up);
  return nearby(element);
};
export const nearby = (element) => {
  const from = cb.boxOf(element);
  const apart = (one) => {
    const box = cb.boxOf(one);
    const gap = (a, length, b, other) => Math.max(0, a - b - other, b - a - length);
    return Math.hypot(gap(from.x, from.width, box.x, box.width), gap(from.y, from.height, box.y, box.height));
  };
  for (let up = element, depth = 0; up && depth < 5; up = cb.parentOf(up), depth++) {
    const inside = Array.from(cb.queryAll(up, ACTABLE)).slice(0, 200);
    if (inside.length) return cb.idOf(inside.reduce((best, one) => (apart(one) < apart(best) ? one : best)));
  }
  return 0;
};
export const resolved = (text) => {
  try {
    return cut(new URL(text, cb.baseUri(document)).href, 2000);
  } catch {
    return cut(text, 2000);
  }
};
