// @ts-check
// Options that a page draws itself, in the list that a control is or opens.
import * as cb from "cuebook:core";
import {
  act, attr, bodyOf, byDomId, getter, matches, method, queryWithin, rectOf, rootOf, scrollingElement, tagOf,
} from "./reads.js";
import { element, fieldOf, frame, lettersIn, sameWords } from "./common.js";
import { scrollOffset, scrollToOffset } from "./actionable.js";
import { clientHeight } from "./scroll.js";
import { forgetMeanings, isLate } from "./gesture.js";
import { kindOf, optionLabel, optionValue } from "./enter.js";

const CHOICES = new Set(["option", "treeitem", "menuitem", "menuitemradio", "menuitemcheckbox"]);
const dataListOf = getter(HTMLInputElement.prototype, "list");
const dataOptions = getter(HTMLDataListElement.prototype, "options");
const byIdInFragment = method(DocumentFragment.prototype, "getElementById");
const byIdIn = (root, name) =>
  root instanceof DocumentFragment ? byIdInFragment(root, name) : byDomId(document, name);
/**
 * Where the options of a list are drawn: in the list, or, where it has no area and only repeats for screen readers some
 * of what stands beside it, in what encloses both.
 */
const drawnList = (list, target) => {
  const isEmpty = (one) => {
    const { width, height } = rectOf(one);
    return (width === 0 || height === 0) && cb.styleOf(one).display !== "none";
  };
  let drawn = list;
  while (isEmpty(drawn)) {
    const around = cb.composedParentOf(drawn);
    if (!around || around === bodyOf(document) || cb.contains(around, target)) return list;
    drawn = around;
  }
  return drawn;
};
/** Where what a control opens is drawn: what it, or its only combo box, refers to. */
const popupsOf = (target) => {
  const inner = attr(target, "role") === "combobox" ? [] : queryWithin(target, "[role=combobox]");
  const combos = [target, cb.comboOf(target), ...inner];
  const names = combos
    .slice(0, 5)
    .flatMap((combo) => `${attr(combo, "aria-controls") ?? ""} ${attr(combo, "aria-owns") ?? ""}`.trim().split(/\s+/))
    .filter((name) => name);
  return names
    .map((name) => byIdIn(rootOf(target), name) ?? byDomId(document, name))
    .filter((found) => found)
    .map((list) => drawnList(list, target));
};
const LISTS = "[role=listbox], [role=tree], [role=menu], [aria-multiselectable]";
/** What an option lies in: its list, or what holds it where that has no role. */
const listOf = (choice) => {
  for (let up = cb.parentOf(choice); up; up = cb.parentOf(up)) if (matches(up, LISTS)) return up;
  return cb.parentOf(choice);
};
const isForSeveral = (choice) => {
  for (let up = cb.parentOf(choice); up; up = cb.parentOf(up))
    if (attr(up, "aria-multiselectable") === "true") return true;
  return false;
};
const isListBox = (target) => cb.roleOf(target) === "listbox";
/** Whether an element is an option whose role was forgotten: it says whether it is selected. */
const isUnnamedOption = (one) => attr(one, "role") === null && attr(one, "aria-selected") !== null;
const labelOf = (choice) => cb.nameOf(choice) || cb.textOf(choice);
/** What is pressed to choose an entry: of a row of a tree the text, since what stands before it opens the row. */
const faceOf = (choice) => {
  if (cb.roleOf(choice) !== "treeitem") return choice;
  const faces = Array.from(queryWithin(choice, "*")).slice(0, 50);
  // A box in the row may have a name of its own, and be part of that of the row.
  for (const words of [labelOf(choice), cb.textOf(choice)]) {
    const face = faces.findLast((one) => sameWords(lettersIn(cb.textOf(one)), lettersIn(words)) && cb.isVisible(one));
    if (face) return face;
  }
  return choice;
};
/** The lists that a target is, names, or that these options of it lie in; null if that is not known. */
const scopeOf = (target, chosen) => {
  if (isListBox(target)) return [target];
  const popups = popupsOf(target);
  if (popups.length) return popups;
  const lists = chosen.map(element).filter((one) => one).map(listOf);
  return lists.length ? lists : null;
};
/**
 * The elements that may be chosen for a target: in its list, or, where that is not known, those that came since
 * `before`.
 */
const choicesOf = (target, before, scope = scopeOf(target, [])) => {
  const found = [];
  cb.everyElement((choice) => {
    if (found.length >= 500) return false;
    const role = isUnnamedOption(choice) ? "option" : cb.roleOf(choice);
    if (!CHOICES.has(role) || (!scope && role.startsWith("menu")) || !cb.isVisible(choice)) return;
    if (tagOf(choice) === "option" && !isListBox(target)) return;
    const isIn = scope
      ? scope.some((outer) => cb.contains(outer, choice))
      : cb.contains(target, choice) || !before?.includes(cb.idOf(faceOf(choice)));
    if (isIn) found.push(choice);
  });
  return found;
};
const isEntry = (inner) => {
  for (let up = inner; up; up = cb.composedParentOf(up))
    if (matches(up, "li, tr, [role=listitem], [role=row]")) return true;
  return false;
};
const TAKES_OUT = /^(?:remove|delete|deselect|unselect)\s+(.+)$/i;
/**
 * The choices that a control shows in itself, each with a button that is called by it: such lists hide what is chosen.
 * The entries of a list are things of their own.
 */
const tagsOf = (target) =>
  Array.from(queryWithin(cb.displayOf(fieldOf(target)), "button, [role=button]"))
    .slice(0, 100)
    .filter((one) => cb.isVisible(one) && !isEntry(one))
    .map((one) => ({ id: cb.idOf(one), label: TAKES_OUT.exec(cb.nameOf(one))?.[1] }))
    .filter(({ label }) => label);
/**
 * The options that can be chosen now, and what kind of control the target is. `before`: the options that were shown
 * before it was opened; `chosen`: those that were chosen since.
 */
act.listed = (id, before, chosen) => {
  const target = element(id);
  if (!target) return null;
  // What is read anew is what the next press is for: a list may draw another option with the same element.
  forgetMeanings();
  const scope = scopeOf(target, chosen);
  const field = fieldOf(target);
  const list = field instanceof HTMLInputElement ? dataListOf(field) : null;
  const row = (choice) => {
    const states = cb.statesOf(choice);
    return {
      id: cb.idOf(faceOf(choice)),
      label: cb.cut(labelOf(choice), 200),
      text: cb.cut(cb.textOf(choice), 200),
      value: attr(choice, "data-value") ?? attr(choice, "value"),
      disabled: !!states.disabled,
      selected: !!states.selected,
      // In a list for one, the entry that Enter would take may call itself selected.
      chosen:
        states.checked === "true" ||
        (isUnnamedOption(choice)
          ? attr(choice, "aria-selected") === "true"
          : !!states.selected && ((isListBox(target) && !cb.isClosable(target)) || isForSeveral(choice))),
    };
  };
  const data = (option) => ({
    id: 0,
    label: cb.cut(optionLabel(option), 200),
    text: "",
    value: cb.cut(optionValue(option), 2000),
    disabled: false,
    selected: false,
    chosen: false,
  });
  return {
    rows: list ? Array.from(dataOptions(list)).slice(0, 1000).map(data) : choicesOf(target, before, scope).map(row),
    tags: isListBox(target) ? [] : tagsOf(target),
    known: scope !== null,
    expanded: cb.statesOf(cb.comboOf(target)).expanded === true,
    kind: list
      ? "data"
      : isListBox(target) && !cb.isClosable(target)
        ? "list"
        : matches(target, "html, body, form, fieldset, table, main")
          ? "none"
          : "control",
    several: attr(target, "aria-multiselectable") === "true",
    typed: kindOf(field) === "text" && !cb.statesOf(field).readonly,
  };
};
/** What a list without a bar of the browser's own is moved in, by the page. */
const rollerOf = (choice) => {
  if (!isUnnamedOption(choice)) return null;
  let up = cb.composedParentOf(choice);
  while (up && !(cb.styleOf(up).overflowY === "hidden" && cb.overflows(up))) up = cb.composedParentOf(up);
  return up === bodyOf(document) ? null : up;
};
/**
 * Scrolls an open list on, or back to its start; returns whether it moved. Lists that render only what is in view show
 * the rest of their options so.
 */
act.scrollList = async (id, before, back) => {
  const target = element(id);
  const first = target && choicesOf(target, before)[0];
  const scroller = first && (cb.scrollerOf(first) ?? rollerOf(first));
  if (!scroller || scroller === scrollingElement(document) || isLate()) return false;
  const top = scrollOffset.top(scroller);
  scrollToOffset(scroller, { top: back ? 0 : top + clientHeight(scroller) * 0.8, behavior: "instant" });
  if (scrollOffset.top(scroller) === top) return false;
  await frame();
  await frame();
  return true;
};

