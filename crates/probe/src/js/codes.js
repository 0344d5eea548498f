// @ts-check
// Fields that are one field to a person: a row of boxes of one character each, such as those for a code.
import { boundingRect, elementChildren, getter, isHtml, parentNode, queryAll, typeOf } from "./tree.js";

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
/** The boxes that stand side by side with one, whatever else its parent holds. */
const besides = (element) => {
  const parent = parentNode(element);
  const children = parent ? Array.from(elementChildren(parent)) : [];
  const at = children.indexOf(element);
  const from = children.slice(0, at).findLastIndex((child) => !isBox(child)) + 1;
  const end = children.findIndex((child, index) => index > at && !isBox(child));
  return children.slice(from, end < 0 ? undefined : end);
};
/**
 * All boxes of the row that an element is in: those beside it, or what the nearest common parent of three or more
 * boxes holds of inputs for text. None if it is in no row.
 * @param {Element} element
 * @returns {Element[]}
 */
export const rowOf = (element) => {
  if (!isBox(element)) return [];
  const beside = besides(element);
  if (beside.length >= FEWEST && beside.length <= MOST) return beside;
  for (let up = parentNode(element), depth = 0; up && depth < 4; up = parentNode(up), depth++) {
    const inputs = Array.from(queryAll(up, "input")).filter((input) => BOXED.has(typeOf(input)));
    if (inputs.length > MOST || !inputs.every(isBox)) break;
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
