// @ts-check
// Fields that are one field to a person: a row of boxes of one character each, such as those for a code.
import { boundingRect, getter, isHtml, parentNode, queryAll, typeOf } from "./tree.js";

const maxLength = getter(HTMLInputElement.prototype, "maxLength");
const BOXED = new Set(["text", "tel", "number", "password"]);
/** The fewest boxes that make a row. */
const FEWEST = 3;
const MOST = 12;
/** Whether an input has room for one character: by its limit, or because it is no wider than it is high. */
const isBox = (element) => {
  if (!isHtml(element, "input") || !BOXED.has(typeOf(element))) return false;
  if (maxLength(element) > 0) return maxLength(element) === 1;
  const { width, height } = boundingRect(element);
  return width > 0 && width <= height * 2;
};
/** The boxes around one of these inputs that share its parent, up to the next other input there. */
const besides = (element, inputs) => {
  const middle = inputs.indexOf(element);
  const near = inputs.slice(Math.max(0, middle - MOST), middle + MOST + 1);
  const sharing = near.filter((input) => parentNode(input) === parentNode(element));
  const at = sharing.indexOf(element);
  const from = sharing.findLastIndex((input, index) => index < at && !isBox(input)) + 1;
  const end = sharing.findIndex((input, index) => index > at && !isBox(input));
  return sharing.slice(from, end < 0 ? undefined : end);
};
/**
 * All boxes of the row that an element is in: what the nearest common parent of three or more boxes holds of inputs for
 * text; among other inputs, the boxes of its own parent. None if it is in no row.
 * @param {Element} element
 * @returns {Element[]}
 */
export const rowOf = (element) => {
  if (!isBox(element)) return [];
  for (let up = parentNode(element), depth = 0; up && depth < 4; up = parentNode(up), depth++) {
    const inputs = Array.from(queryAll(up, "input")).filter((input) => BOXED.has(typeOf(input)));
    if (inputs.length > MOST || !inputs.every(isBox)) {
      const row = depth === 0 ? besides(element, inputs) : [];
      return row.length >= FEWEST && row.length <= MOST ? row : [];
    }
    if (inputs.length >= FEWEST) return inputs;
  }
  return [];
};
/**
 * An element and the boxes that follow it in its row.
 * @param {Element} element
 * @returns {Element[]}
 */
export const boxesFrom = (element) => {
  const row = rowOf(element);
  return row.length ? row.slice(row.indexOf(element)) : [element];
};
