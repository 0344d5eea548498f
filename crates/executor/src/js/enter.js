// @ts-check
// Focus, selection and what cannot be typed: dates, colours, native selects.
import * as cb from "cuebook:core";
import {
  act, areaValue, bodyOf, dispatch, focusOf, getter, inputType, inputValue, method, rootElement, selectionEnd,
  selectionStart,
} from "./reads.js";
import {
  activeElement, closestInteractive, describe, editable, element, fieldOf, frame, later, originOf, reaches,
} from "./common.js";
import { isLastKeyHandled, isLate } from "./gesture.js";
import { changedMeaning } from "./meant.js";
import { noteAround, noteEntered } from "./held.js";
import { watching } from "./watch.js";

const selectInput = method(HTMLInputElement.prototype, "select");
const selectArea = method(HTMLTextAreaElement.prototype, "select");
const setRange = method(HTMLInputElement.prototype, "setSelectionRange");
const setAreaRange = method(HTMLTextAreaElement.prototype, "setSelectionRange");
const newElement = method(Document.prototype, "createElement");
const SET_WHOLE = new Set(["date", "time", "month", "week", "datetime-local", "color", "range"]);
const TYPED_INPUTS = new Set(["text", "search", "tel", "url", "email", "password", "number"]);
export const kindOf = (field) => {
  if (field instanceof HTMLInputElement) {
    const type = inputType(field);
    return SET_WHOLE.has(type) ? "whole" : TYPED_INPUTS.has(type) ? "text" : type;
  }
  if (field instanceof HTMLTextAreaElement) return "text";
  if (field instanceof HTMLSelectElement) return "select";
  return field instanceof HTMLElement && editable(field) ? "rich" : "other";
};
const maxLength = (field) =>
  field instanceof HTMLInputElement
    ? getter(HTMLInputElement.prototype, "maxLength")(field)
    : field instanceof HTMLTextAreaElement
      ? getter(HTMLTextAreaElement.prototype, "maxLength")(field)
      : -1;
/** What a field accepts, if it does not accept this text as its value; `null` if it does, as far as is known. */
act.refusal = (id, text) => {
  const field = element(id);
  if (!field || text === "") return null;
  if (field instanceof HTMLInputElement && inputType(field) === "number") {
    const trial = newElement(document, "input");
    trial.type = "number";
    setInputValue(trial, text.trim());
    if (inputValue(trial) === "") return "a number";
  }
  const most = maxLength(field);
  return most >= 0 && text.length > most ? `at most ${most} characters` : null;
};
const textIn = (field) =>
  field instanceof HTMLInputElement
    ? inputValue(field)
    : field instanceof HTMLTextAreaElement
      ? areaValue(field)
      : cb.textOf(field);
const isInputLocked = getter(HTMLInputElement.prototype, "readOnly");
const isAreaLocked = getter(HTMLTextAreaElement.prototype, "readOnly");
const isLocked = (field) =>
  (field instanceof HTMLInputElement && isInputLocked(field)) ||
  (field instanceof HTMLTextAreaElement && isAreaLocked(field));
/** Gives the focus to a field that may be read-only only until it has it. */
act.unlock = async (id) => {
  const field = element(id);
  if (!field || isLate() || activeElement() === field) return false;
  watching?.begin();
  focusOf(field);
  for (const by = performance.now() + UNLOCKED; isLocked(field) && performance.now() < by; ) await later(10);
  return !isLocked(field);
};
act.field = (id) => {
  const target = element(id);
  if (!target) return null;
  const field = fieldOf(target);
  const boxes = cb.boxesFrom(field);
  return {
    id: cb.idOf(field),
    kind: kindOf(field),
    multiline: field instanceof HTMLTextAreaElement || kindOf(field) === "rich",
    boxes: boxes.length,
    locked: isLocked(field),
    sensitive: boxes.some(cb.isSensitive),
    revealed: boxes.some(cb.isRevealed),
  };
};
/** What a field holds, as conditions see it. */
const heldBy = (field) => cb.valueOf(field) ?? textIn(field);
/**
 * What a field holds now; `joined`: what it and the boxes after it hold together; `isKeyed`: the page itself did with
 * the last key what the browser would have done.
 */
act.entered = (id) => {
  const field = element(id);
  const joined = () => cb.boxesFrom(field).map(heldBy).join("");
  if (!field) return null;
  const hasFocus = activeElement() === field;
  return { value: heldBy(field), joined: joined(), isKeyed: isLastKeyHandled(), hasFocus };
};
/** How long a page may take to have a field accept text once it has the focus, in milliseconds. */
const UNLOCKED = 200;
/** How long a page may take to pass the focus on from a box that was filled, in milliseconds. */
const PASSED_ON = 300;
/** Settles once the focus is past the first `filled` boxes of a row, or one of them takes more than one character. */
act.passed = async (id, filled) => {
  const field = element(id);
  const boxes = field ? cb.boxesFrom(field) : [];
  const isDue = () => filled < boxes.length && boxes.every((box) => heldBy(box).length <= 1);
  const isPassed = () => boxes.indexOf(activeElement()) >= filled;
  for (const by = performance.now() + PASSED_ON; isDue() && !isPassed() && performance.now() < by; )
    await later(10);
  return isPassed();
};
/** What is on or off of a target: a box, a switch, a button that stays down; `null` of what is neither. */
act.checkedOf = (id) => {
  const target = element(id);
  if (!target) return null;
  const { checked, pressed } = cb.statesOf(target);
  const seen = checked ?? pressed ?? (["option", "treeitem"].includes(cb.roleOf(target)) ? "false" : null);
  return seen && { seen, native: target instanceof HTMLInputElement && inputType(target) === "radio" };
};
const areaStart = getter(HTMLTextAreaElement.prototype, "selectionStart");
const areaEnd = getter(HTMLTextAreaElement.prototype, "selectionEnd");
const holdsNode = method(Node.prototype, "contains");
/** Whether a part of the text of what has the focus is selected: what is typed takes its place. */
const hasSelection = (into) => {
  if (into instanceof HTMLInputElement && selectionStart(into) !== null)
    return selectionStart(into) !== selectionEnd(into);
  if (into instanceof HTMLTextAreaElement) return areaStart(into) !== areaEnd(into);
  const selection = getSelection();
  if (into instanceof HTMLInputElement) return String(selection) !== "";
  return (
    !!selection &&
    !selection.isCollapsed &&
    holdsNode(into, selection.anchorNode) &&
    holdsNode(into, selection.focusNode)
  );
};
/** Whether the caret is in an editor already, and no text is behind it: it may be on a line that was just begun. */
const isAtLastText = (into) => {
  const selection = getSelection();
  if (!editable(into) || !selection?.isCollapsed || !holdsNode(into, selection.anchorNode)) return false;
  const behind = cb.newRange(document);
  behind.selectNodeContents(into);
  behind.setStart(selection.anchorNode, selection.anchorOffset);
  return !/[^\s\u200b\ufeff]/.test(String(behind));
};
/** The rest of a mask that is not filled: blanks, and what stands between them. */
const MASK = /_[_\s./:()-]*$/;
/** Where a text ends; one that a mask completes, at its first blank. */
const endOf = (text) => {
  const rest = MASK.exec(text.slice(-100))?.[0] ?? "";
  const isMask = rest.split("_").length > 2 && (/[^_]/.test(rest) || rest === text);
  return isMask ? text.length - rest.length : text.length;
};
/**
 * Gives the focus and places the caret: `keep`, `start`, `end` or `all`; `start` does nothing to what has the focus
 * already, `end` leaves a selection alone that was made in it, unless the focus `isFresh`. Tells whether the target has
 * the focus.
 */
const giveFocus = (id, caret, isFresh) => {
  const target = element(id);
  if (!target || isLate()) return null;
  watching?.begin();
  const field = fieldOf(target);
  noteAround(field);
  const had = activeElement();
  // A body has the focus by default, whether its document has it or not.
  const isHeld = had === field && field !== bodyOf(document);
  if (!isHeld && !(cb.contains(field, had) && caret !== "all" && had !== bodyOf(document))) {
    if (field instanceof HTMLElement) focusOf(field);
    else if (field instanceof SVGElement) method(SVGElement.prototype, "focus")(field);
  }
  const active = activeElement();
  const focused = !!active && (cb.contains(target, active) || active === field);
  let atEnd = true;
  const into = focused && active instanceof HTMLElement ? active : field;
  try {
    if (caret === "end" && !isFresh && had === active && (hasSelection(into) || isAtLastText(into))) {
      atEnd = true;
    } else if (caret === "end") {
      const end = endOf(textIn(into));
      if (into instanceof HTMLInputElement) setRange(into, end, end);
      else if (into instanceof HTMLTextAreaElement) setAreaRange(into, end, end);
      else if (editable(into)) (getSelection().selectAllChildren(into), getSelection().collapseToEnd());
    } else if (caret === "start" && had !== active) {
      if (into instanceof HTMLInputElement) setRange(into, 0, 0);
      else if (into instanceof HTMLTextAreaElement) setAreaRange(into, 0, 0);
    } else if (caret === "all") {
      if (into instanceof HTMLInputElement) selectInput(into);
      else if (into instanceof HTMLTextAreaElement) selectArea(into);
      else getSelection().selectAllChildren(into);
    }
  } catch {
    // E-mail and number fields have no selection that script may set.
    atEnd = caret !== "end" || textIn(into) === "";
  }
  return { focused, atEnd, empty: textIn(into) === "", active: describe(active), caret: caretOf(into) };
};
/** The same, and for text once more in the next frame: a page that selects the text then would lose the first key. */
act.focus = async (id, caret) => {
  const had = activeElement();
  const given = giveFocus(id, caret, false);
  if (caret !== "end" || !given?.focused || activeElement() === had) return given;
  await frame();
  return giveFocus(id, caret, true);
};
/**
 * What a field holds before and behind what is selected in it; `null` where the browser does not tell. `isPlain`: it
 * tells the position of the caret, too.
 */
const caretOf = (field) => {
  const held = heldBy(field);
  const isInput = field instanceof HTMLInputElement;
  const [start, end] = isInput
    ? [selectionStart(field), selectionEnd(field)]
    : field instanceof HTMLTextAreaElement
      ? [areaStart(field), areaEnd(field)]
      : [null, null];
  if (start !== null) return { before: held.slice(0, start), behind: held.slice(end), isPlain: true };
  // A part of a date is a number of its own: what is typed replaces it.
  if (!isInput && cb.roleOf(field) === "spinbutton") return { before: "", behind: "", isPlain: false };
  const isAll = hasSelection(field) && cb.collapse(String(getSelection())) === cb.collapse(held);
  if (!isAll && hasSelection(field)) return null;
  return { before: isAll ? "" : held, behind: "", isPlain: false };
};
/**
 * After a line break in an editor: one that makes paragraphs of it leaves the caret where it was, at the end of the
 * line before. It goes to the line that was begun.
 */
act.beginLine = () => {
  const selection = getSelection();
  if (!selection?.isCollapsed || !selection.rangeCount) return false;
  const caret = selection.getRangeAt(0).cloneRange();
  const beside = (direction) => {
    selection.modify("extend", direction, "character");
    const text = String(selection);
    selection.removeAllRanges();
    selection.addRange(caret);
    return text;
  };
  const [before, behind] = [beside("backward"), beside("forward")];
  const isLeft = before !== "" && !before.includes("\n") && behind.includes("\n");
  if (isLeft) selection.modify("move", "forward", "character");
  return isLeft;
};
act.selectText = (id) => {
  const target = element(id);
  if (!target || isLate()) return false;
  if (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLElement && editable(target))
  )
    return !!giveFocus(id, "all", false);
  getSelection().selectAllChildren(target);
  return true;
};
const tell = (target, type) => {
  dispatch(target, new Event(type, { bubbles: true, composed: type === "input" }));
};
const setInputValue = (() => {
  const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  return (field, value) => Reflect.apply(set, field, [value]);
})();
/** Sets a date, time, colour or range; returns the value that the field has then. */
act.setWhole = (id, value) => {
  const target = element(id);
  const field = target && fieldOf(target);
  if (!(field instanceof HTMLInputElement) || isLate()) return null;
  watching?.begin();
  const before = inputValue(field);
  const wanted = inputType(field) === "color" ? value.toLowerCase() : value;
  focusOf(field);
  const stale = changedMeaning();
  if (stale) return { fits: false, took: before, stale };
  setInputValue(field, wanted);
  const took = inputValue(field);
  const fits = took === wanted || (wanted !== "" && Number(took) === Number(wanted) && inputType(field) === "range");
  if (!fits) {
    setInputValue(field, before);
    return { fits: false, took };
  }
  if (took !== before) {
    tell(field, "input");
    tell(field, "change");
  }
  return { fits: true, took };
};

export const optionValue = getter(HTMLOptionElement.prototype, "value");
export const optionLabel = getter(HTMLOptionElement.prototype, "label");
const optionText = getter(HTMLOptionElement.prototype, "text");
const isSelected = getter(HTMLOptionElement.prototype, "selected");
const setSelectedIndex = (() => {
  const { set } = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "selectedIndex");
  return (field, index) => set.call(field, index);
})();
const setSelected = (() => {
  const { set } = Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected");
  return (option, value) => Reflect.apply(set, option, [value]);
})();
/**
 * Chooses options of a native select, or looks whether it could; `choices` are `{text}`, `{value}`, `{label}` or
 * `{index}`, `expected` is their meaning when they were read before.
 */
act.choose = (id, choices, really, expected) => {
  const target = element(id);
  const field = target && fieldOf(target);
  if (!(field instanceof HTMLSelectElement) || isLate()) return { native: false };
  const optionsNow = () => Array.from(getter(HTMLSelectElement.prototype, "options")(field));
  const options = optionsNow();
  const labels = (option) => [optionLabel(option), optionText(option)].map(cb.collapse);
  const listed = options.filter(cb.isListed);
  const known = listed.slice(0, 1000).map((option) => cb.cut(labels(option)[0] || optionValue(option), 100));
  const multiple = getter(HTMLSelectElement.prototype, "multiple")(field);
  const find = (choice, options) => {
    const { value, label, index, text } = choice;
    const isLabelled = (option, wanted) => labels(option).includes(cb.collapse(wanted));
    if (text !== undefined)
      return (
        options.find((option) => optionValue(option) === text) || options.find((option) => isLabelled(option, text))
      );
    return options.find(
      (option) =>
        (index === undefined || option === listed[index]) &&
        (value === undefined || optionValue(option) === value) &&
        (label === undefined || isLabelled(option, label)),
    );
  };
  const chosen = [];
  // A select for one option takes the first of several.
  const wanted = multiple ? choices : choices.slice(0, 1);
  for (let at = 0; at < wanted.length; at++) {
    const option = find(wanted[at], options);
    if (!option) return { native: true, missing: at, known };
    if (cb.statesOf(option).disabled) return { native: true, disabled: at, known };
    chosen.push(option);
  }
  const facts = (option) => JSON.stringify([optionValue(option), ...labels(option)]);
  const meaning = chosen.map(facts);
  const changed = expected?.findIndex((one, at) => one !== meaning[at]) ?? -1;
  if (changed >= 0) return { native: true, changed, known };
  if (!really) return { native: true, ok: true, chosen: wanted.length, known, meaning };
  watching?.begin();
  const before = options.map(isSelected).join();
  focusOf(field);
  const stale = changedMeaning();
  if (stale) return { native: true, stale, known };
  // The page may react to the focus by renaming or moving an option.
  const now = optionsNow();
  const isOther = (choice, at) => find(choice, now) !== chosen[at] || facts(chosen[at]) !== meaning[at];
  const other = wanted.findIndex(isOther);
  if (other >= 0) return { native: true, changed: other, known };
  if (multiple) for (const option of options) setSelected(option, chosen.includes(option));
  else if (chosen[0]) setSelected(chosen[0], true);
  else setSelectedIndex(field, -1);
  if (options.map(isSelected).join() !== before) {
    // The page may draw the field anew in answer.
    noteEntered(field);
    tell(field, "input");
    tell(field, "change");
  }
  return { native: true, ok: true, chosen: wanted.length, known };
};
const innerText = getter(HTMLElement.prototype, "innerText");
act.read = (id, what) => {
  const target = id === null ? (bodyOf(document) ?? rootElement(document)) : element(id);
  if (!target) return null;
  const field = fieldOf(target);
  const limit = 200000;
  if (what === "html") {
    if (cb.isSensitive(target)) return { sensitive: true, text: "" };
    return {
      text: cb.cut(
        Element.prototype.hasOwnProperty("innerHTML") ? getter(Element.prototype, "innerHTML")(target) : "",
        limit,
      ),
    };
  }
  const sensitive = cb.isSensitive(field);
  if (what === "value") {
    const value = cb.valueOf(field);
    return { sensitive, text: cb.cut(value ?? "", limit), length: value?.length ?? 0, none: value === undefined };
  }
  const isField = field === target && (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement);
  const text = (
    (isField ? textIn(target) : target instanceof HTMLElement ? innerText(target) : cb.textOf(target)) ?? ""
  ).trim();
  return { sensitive: sensitive && isField, text: cb.cut(text, limit), length: text.length };
};
/** What files given to a target go to: the file field, or the target itself. */
act.taker = (id) => {
  const target = element(id);
  if (!target) return null;
  const field = fieldOf(target);
  const isFile = field instanceof HTMLInputElement && inputType(field) === "file";
  const taker = isFile ? field : target;
  return {
    id: cb.idOf(taker),
    multiple: isFile ? getter(HTMLInputElement.prototype, "multiple")(field) : null,
    pressed: !!closestInteractive(target) || target instanceof HTMLLabelElement,
  };
};
/** The last thing that was dragged over this document. */
let over = null;
/** Follows what is dragged over this document from now on. */
act.followDrag = () => {
  if (!over)
    globalThis.addEventListener(
      "dragover",
      (event) => {
        over = { event, origin: originOf(event) };
      },
      true,
    );
  over = {};
  return true;
};
/** Whether the page accepted the last thing that was dragged over this document. */
act.tookDrop = () => !!over?.event && getter(Event.prototype, "defaultPrevented")(over.event);
/** Whether the page accepts the drag at the target. */
act.takesDrop = (id) => {
  const target = element(id);
  return !!target && act.tookDrop() && reaches(target, over.origin);
};
const outerHtml = getter(Element.prototype, "outerHTML");
const remove = method(Element.prototype, "remove");
const removeAttribute = method(Element.prototype, "removeAttribute");
/** The document in a compact form: no scripts, styles or drawings, and no text of sensitive fields. */
act.dom = (id) => {
  const target = id === null ? (bodyOf(document) ?? rootElement(document)) : element(id);
  if (!target) return null;
  // Parsed again apart from the page, where nothing loads and nothing runs.
  const source = outerHtml(target);
  const read = cb.cut(source, 2000000);
  const copy = new DOMParser().parseFromString(read, "text/html");
  for (const found of cb.queryAll(copy, "script, style, noscript, template, link, meta, svg > *")) remove(found);
  for (const found of cb.queryAll(copy, "*")) {
    for (const name of cb.attributeNames(found))
      if (name.startsWith("on") || name === "style") removeAttribute(found, name);
    if (cb.hasAttribute(found, "value") && cb.isSensitive(found)) removeAttribute(found, "value");
  }
  const body = bodyOf(copy);
  const text = outerHtml(id === null ? body : (cb.firstElement(body) ?? body)).replace(/\s+/g, " ");
  return { text: cb.cut(text, 200000), length: text.length + source.length - read.length };
};
