// @ts-check
// Boxes of elements, in their frame.
import * as cb from "cuebook:core";
import { isElement, method, newRange, rectOf, rectsOf } from "./reads.js";

export const rangeRects = method(Range.prototype, "getClientRects");
const rangeBox = method(Range.prototype, "getBoundingClientRect");
const plain = ({ x, y, width, height }) => ({ x, y, width, height });
export const hasArea = ({ width, height }) => width > 0 && height > 0;
const contentRange = (found) => {
  const range = newRange(document);
  range.selectNodeContents(found);
  return range;
};
/** The box of an element; of what is in it, where it has none itself (`display: contents`, zero size). */
export const boxOf = (found) => {
  const own = rectOf(found);
  return plain(hasArea(own) ? own : rangeBox(contentRange(found)));
};
/** The parts that an element is drawn in: the lines of inline text, or one box. */
export const fragmentsOf = (found) => {
  const own = Array.from(rectsOf(found)).filter(hasArea);
  return own.length
    ? own
    : Array.from(rangeRects(contentRange(found)))
        .filter(hasArea)
        .slice(0, 50);
};
/** Can be seen, itself or by what is in it. */
export const isThere = (found) => {
  if (cb.isVisible(found)) return true;
  if (hasArea(rectOf(found)) || cb.styleOf(found).visibility !== "visible") return false;
  return cb.childrenOf(found).some((child) => isElement(child) && cb.isVisible(child));
};
