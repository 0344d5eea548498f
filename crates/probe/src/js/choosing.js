// @ts-check
// Controls for choosing that a page draws: the box that stands for a field, and the choices that a control shows.
import {
  attr, characterData, childNodes, collapse, composedParentOf, contains, flatChildren, getter, isElement, lookOf,
  matches, nodeType, parentOf, queryAll, tagOf,
} from "./tree.js";
import { roleOf } from "./roles.js";
import { isAriaHidden } from "./names.js";
import { isVisible } from "./visible.js";
import { ACTABLE } from "./context.js";
import { textOf } from "./facts.js";

/** What takes clicks or text in a box. */
const inner = () => `${ACTABLE}, iframe, [role=option], [role=treeitem]`;
/**
 * The box that stands for a field for choosing, with its placeholder or its choice drawn over it: the pointer of a
 * control is over all of it, and nothing else that takes clicks or text is in it. Null if there is none.
 * @param {Element} field
 * @returns {Element | null}
 */
export const boxOfChoice = (field) => {
  if (!(field instanceof HTMLInputElement) || roleOf(field) !== "combobox") return null;
  let box = null;
  for (let up = parentOf(field), depth = 0; up && depth < 5; up = parentOf(up), depth++) {
    if (!["pointer", "text"].includes(lookOf(up).cursor)) break;
    if (Array.from(queryAll(up, inner())).some((one) => one !== field && !isAriaHidden(one))) break;
    box = up;
  }
  return box;
};

/**
 * The combo box that a field is the text of; the control itself if there is none around it.
 * @param {Element} control
 * @returns {Element}
 */
export const comboOf = (control) => {
  let up = tagOf(control) === "input" ? control : null;
  for (let depth = 0; up && depth < 5; up = composedParentOf(up), depth++)
    if (attr(up, "role") === "combobox") return up;
  return control;
};

const FIELDS = "input:not([type=hidden i]), select, textarea, [role=combobox], [role=textbox]";
const AROUND = "body, form, fieldset, dialog, td, th, tr, li, [role=dialog], [role=form], [role=group], [role=row]";
/** What stands about a control, and is no choice that it shows. */
const APART =
  "label, legend, script, style, option, [role=option], [role=listbox], [role=tree], [role=grid], [role=menu], " +
  "[role=dialog], [role=tooltip], [class*=placeholder i]";
/** The same, unless it is a part of the control, which may tell its choice aloud. */
const ALOUD = "[role=alert], [role=status], [aria-live]:not([aria-live=off])";
/**
 * What a control for choosing shows its choice in: itself, or for a field what is around it and no other field.
 * @param {Element} control
 * @returns {Element}
 */
export const displayOf = (control) => {
  let display = control;
  if (tagOf(control) !== "input") return display;
  for (let up = composedParentOf(control), depth = 0; up && depth < 5; up = composedParentOf(up), depth++) {
    if (matches(up, AROUND)) break;
    if (Array.from(queryAll(up, FIELDS)).some((one) => one !== control && isVisible(one))) break;
    display = up;
  }
  return display;
};
/**
 * The texts that an element shows, an entry for each part that has words of its own: at most 50, each of at most 200
 * characters.
 */
const partsOf = (display, control) => {
  const texts = new Set();
  const stack = [display];
  for (let looked = 0; stack.length && looked < 300 && texts.size < 50; looked++) {
    const one = stack.pop();
    const isApart = matches(one, APART) || (matches(one, ALOUD) && !contains(control, one));
    if ((one !== display && isApart) || !isVisible(one)) continue;
    const hasWords = Array.from(childNodes(one)).some((node) => nodeType(node) === 3 && characterData(node).trim());
    const text = hasWords ? collapse(textOf(one)) : "";
    if (text && text.length <= 200) texts.add(text);
    const inner = Array.from(flatChildren(one)).filter((child) => isElement(child));
    for (let i = inner.length - 1; i >= 0; i--) stack.push(inner[i]);
  }
  return [...texts];
};
/**
 * Whether a list is a control that shows its choice and opens, as combo boxes do.
 * @param {Element} list
 */
export const isClosable = (list) => roleOf(list) === "listbox" && attr(list, "aria-expanded") !== null;
/**
 * The choices that a control shows, for one that a page draws; a caption beside a field may be among them.
 * @param {Element} control
 * @returns {string[]}
 */
export const shownChoices = (control) => {
  const opens = attr(control, "aria-haspopup");
  const combo = comboOf(control);
  const isCombo = roleOf(combo) === "combobox" || isClosable(combo);
  if (tagOf(control) === "select" || (!isCombo && opens !== "listbox" && opens !== "tree")) return [];
  return partsOf(displayOf(control), combo);
};
const inputValue = getter(HTMLInputElement.prototype, "value");
/**
 * The choice that is drawn over an empty field for choosing; empty if there is none.
 * @param {Element} field
 * @returns {string}
 */
export const drawnChoice = (field) => {
  const box = boxOfChoice(field);
  return box && inputValue(field) === "" ? partsOf(box, field).join(", ") : "";
};
