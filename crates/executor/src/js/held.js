// @ts-check
// What a run entered here, and whether it is still there.
import * as cb from "cuebook:core";
import {
  act, attr, blurOf, isConnected, matches, method, queryWithin, rootElement, selectionEnd, selectionStart,
} from "./reads.js";
import {
  activeElement, closestInteractive, describe, element, fieldOf, frame, later, openedBy, originOf,
} from "./common.js";
import { findAbout } from "./meant.js";

/** What a field meant when something was entered, to find what the page draws in its place. */
const kept = new Map();
const BOXES = new Set(["checkbox", "switch", "menuitemcheckbox"]);
const heldIn = (field) => {
  const { checked, pressed } = cb.statesOf(field);
  return BOXES.has(cb.roleOf(field)) ? (checked ?? pressed ?? "false") : (cb.valueOf(field) ?? null);
};
/** Whether text alone is no choice in a field: it is one for choosing, and lists what may be chosen. */
const suggests = (field) =>
  cb.roleOf(field) === "combobox" &&
  ["list", "both"].includes(attr(field, "aria-autocomplete") ?? "") &&
  (attr(field, "aria-controls") ?? attr(field, "aria-owns")) !== null;
/** When something was last entered here. */
let enteredAt = -Infinity;
/** Notes what was entered in a field, and what the field means. */
export const noteEntered = (field, value = heldIn(field)) => {
  if (value === null) return;
  const about = { key: cb.meaningOf(field).key };
  const calledThen = cb.nameOf(field);
  const id = cb.idOf(field);
  // What a page shows of the text while it is in the field says nothing of where that goes.
  const around = entering.field === id ? entering.around : lettersAround(field);
  kept.set(id, { role: cb.roleOf(field), calledThen, about, value, around });
};
/**
 * Keeps what a field holds now, or, if the page has drawn it anew since something was entered, that; `null` for what
 * holds nothing that could be compared.
 */
act.keep = (id) => {
  const target = element(id);
  const own = target && isConnected(target) ? fieldOf(target) : null;
  const field = own ?? standIn(id);
  const value = own ? heldIn(own) : (kept.get(id)?.value ?? null);
  if (!field || value === null) return null;
  enteredAt = performance.now();
  noteEntered(field, value);
  const called = `${cb.roleOf(field) || describe(field)} ${JSON.stringify(cb.cut(cb.nameOf(field), 100))}`;
  return {
    id: cb.idOf(field),
    called,
    value: cb.cut(value, 20000),
    sensitive: cb.isSensitive(field),
    suggests: suggests(field),
  };
};
const normalize = method(String.prototype, "normalize");
const lettersOf = (text) => (normalize(text, "NFKC").toLowerCase().match(/[\p{L}\p{N}]/gu) ?? []).join("");
/** What stands around a field, such as the tags or recipients that it collects, without the list that it opens. */
const lettersAround = (field) => {
  let around = field;
  for (let depth = 0; depth < 3 && cb.parentOf(around) && !matches(cb.parentOf(around), "body, html"); depth++)
    around = cb.parentOf(around);
  if (around === field) return "";
  const opened = openedBy(field);
  return lettersOf(cb.cut(cb.textWithout(around, (one) => opened.includes(one)), 5000));
};
/** Whether an empty field has passed on what was entered: it stands beside it now, and did not before. */
const isPassedOn = (field, now) => {
  const { value, around } = kept.get(cb.idOf(field)) ?? {};
  const wanted = lettersOf(value ?? "");
  if (!wanted || lettersOf(now)) return false;
  return lettersAround(field).split(wanted).length > around.split(wanted).length;
};
/** The field that text is being entered in, and what stood around it before. */
let entering = { field: 0, around: "" };
export const noteAround = (field) => {
  entering = { field: cb.idOf(field), around: lettersAround(field) };
};
/** Whether the page has completed what was typed, with the rest selected for the next key to replace. */
const isCompleted = (field, value, wanted) =>
  field instanceof HTMLInputElement &&
  activeElement() === field &&
  value.length > wanted.length &&
  value.toLowerCase().startsWith(wanted.toLowerCase()) &&
  selectionStart(field) === wanted.length &&
  selectionEnd(field) === value.length;
/**
 * What a field holds instead of the text that was to be its value: the rest, if it has passed on the beginning, such as
 * the first of several tags, or all that the page completed it to; null if neither is so.
 */
act.leftOf = (id, wanted) => {
  const field = element(id);
  const value = field && entering.field === id ? cb.valueOf(field) : undefined;
  if (value === undefined) return null;
  noteEntered(field);
  if (isCompleted(field, value, wanted)) return value;
  const [whole, rest] = [lettersOf(wanted), lettersOf(value)];
  const passed = whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : "";
  return passed && lettersAround(field).split(passed).length > entering.around.split(passed).length ? value : null;
};
const standIn = (id) => {
  const { role, about } = kept.get(id) ?? {};
  const twin = role ? findAbout(id, role, about) : null;
  return twin ? element(twin) : null;
};
/** What fields hold that were kept; those that are gone, and that nothing stands in for, hold nothing. */
act.holdings = (ids) =>
  ids.map((id) => {
    const own = element(id);
    // A field that is called otherwise was put to use for another row.
    const isOwn = own && isConnected(own) && cb.nameOf(own) === (kept.get(id)?.calledThen ?? "");
    const twin = isOwn ? null : standIn(id);
    // What was entered in the one that stands there now is what counts.
    const field = isOwn ? own : twin && !kept.has(cb.idOf(twin)) ? twin : null;
    const value = field ? heldIn(field) : null;
    const isGone = value === null || isPassedOn(field, value);
    return {
      id,
      value: isGone ? null : cb.cut(value, 20000),
      sensitive: !!field && cb.isSensitive(field),
      focused: !!field && activeElement() === field,
    };
  });

/** What had the focus as the gesture began, what it held, what is pressed, and whether that was in something busy. */
let [focused, held, pressed, wasBusy] = [null, null, null, false];
const isBusy = (inner) => {
  for (let up = inner; up; up = cb.composedParentOf(up)) if (attr(up, "aria-busy") === "true") return true;
  return false;
};
/** What fields hold now that were kept, and that which had the focus, as a key to compare. */
export const heldNow = () =>
  JSON.stringify([
    focused && heldIn(focused),
    ...Array.from(kept.keys(), (id) => (element(id) ? heldIn(element(id)) : null)),
  ]);
/** What kept fields held when the focus began to leave them, since a gesture began. */
let left = new Map();
const noteLeft = (event) => {
  const field = originOf(event);
  const id = field && kept.has(cb.idOf(field)) ? cb.idOf(field) : 0;
  if (!id || left.has(id)) return;
  // What lies beside a field may be there to empty it.
  const isBeside = !pressed || cb.contains(cb.displayOf(field), pressed);
  const isEmptied = field === focused && held && heldIn(field) === "" && !isBeside;
  left.set(id, isEmptied ? held : heldIn(field));
};
for (const type of ["change", "blur"]) globalThis.addEventListener(type, noteLeft, true);
export const beginLeaving = (target) => {
  left = new Map();
  focused = activeElement();
  held = focused && heldIn(focused);
  pressed = target;
  wasBusy = isBusy(target);
};
/** A date in digits without the zeros that fill its parts; null for any other text. */
const dateIn = (text) =>
  /^(?:\d{4}[/.-]\d{1,2}[/.-]\d{1,2}|\d{1,2}[/.-]\d{1,2}[/.-]\d{4})$/.test(text)
    ? text.split(/[/.-]/).map(Number).join("/")
    : null;
/**
 * Whether a page only wrote out what it was given: all letters and digits of `text`, in order, are in `now`. A
 * telephone number that is written with its country has no zero before it any more.
 */
const isWrittenOut = (text, now) => {
  if (Number(text) === Number(now)) return true;
  const [date, dateNow] = [dateIn(text), dateIn(now)];
  if (date && dateNow) return date === dateNow;
  const wanted = now.startsWith("+") ? lettersOf(text).replace(/^0(?=\d{5})/, "") : lettersOf(text);
  let at = 0;
  for (const letter of lettersOf(now)) if (letter === wanted[at]) at++;
  return at === wanted.length;
};
const PRESSED_ALONE =
  "button, a[href], input, select, textarea, label, [role=button], [role=link], [role=checkbox], [role=switch]";
/** Whether what is pressed may be an entry of the list of a field: it is no control, lies in a layer or beside it. */
const mayBeListed = (field) => {
  if (!pressed || !matches(pressed, PRESSED_ALONE)) return true;
  if ([cb.displayOf(field), ...openedBy(field)].some((one) => cb.contains(one, pressed))) return true;
  for (let up = pressed; up && !cb.contains(up, field); up = cb.composedParentOf(up))
    if (["absolute", "fixed"].includes(cb.styleOf(up).position)) return true;
  return false;
};
/**
 * A kept field whose value the page dropped or replaced as the focus left it, since the gesture began; null if there is
 * none. A field for choosing waits for what is pressed next, unless that is none of its choices.
 */
export const lostSince = () => {
  for (const [id, value] of left) {
    const field = element(id);
    if (!field || BOXES.has(cb.roleOf(field))) continue;
    if (cb.roleOf(field) === "combobox" && mayBeListed(field)) continue;
    const now = heldIn(field);
    if (value !== null && now !== null && !isWrittenOut(value, now) && !isPassedOn(field, now))
      return { id, value: cb.cut(now, 20000), sensitive: cb.isSensitive(field), focused: false };
  }
  return null;
};
/** Leaves the field that has the focus if it was entered here, as a person does who is done; `true` if so. */
act.leave = async () => {
  const active = activeElement();
  if (!(active instanceof HTMLElement) || !kept.has(cb.idOf(active))) return false;
  blurOf(active);
  await frame();
  return true;
};

/**
 * Waits, at most `budget` milliseconds, while what was pressed last says that it is at work: it, or what it is in, is
 * busy since, or it is off and its words end in dots.
 */
act.worked = async (budget) => {
  const until = performance.now() + budget;
  const control = closestInteractive(pressed) ?? pressed;
  const isAtWork = () =>
    !!control &&
    isConnected(control) &&
    ((!wasBusy && isBusy(control)) ||
      (!!cb.statesOf(control).disabled && /(?:…|\.\.\.)$/.test(cb.nameOf(control))));
  while (isAtWork() && performance.now() < until) await later(40);
  return true;
};

const SAYS_STATE = "[role=status], [aria-live], output";
const UNSAVED = /\b(?:not saved|unsaved|saving|syncing)\b|\bediting\s*(?:…|\.\.\.)/i;
const SAVED = /\bsaved\b/i;
/** What the page says of its own saving: `unsaved`, `saved`, or `null` where it says nothing. */
const savingState = () => {
  const root = rootElement(document);
  for (const found of root ? queryWithin(root, SAYS_STATE) : []) {
    const text = cb.collapse(cb.textOf(found));
    if (text.length > 60 || !cb.isVisible(found)) continue;
    if (UNSAVED.test(text)) return "unsaved";
    if (SAVED.test(text)) return "saved";
  }
  return null;
};
/** Milliseconds in which a page that saves by itself says that something is not saved yet. */
const NOTICED = 1000;
/**
 * Whether a page that saves by itself has saved what was entered: it says so after it said otherwise, or has said
 * nothing else for long enough. Waits at most `budget` milliseconds.
 */
act.saved = async (budget) => {
  const until = performance.now() + budget;
  let wasUnsaved = false;
  while (enteredAt > -Infinity) {
    const state = savingState();
    const isLong = performance.now() - enteredAt > NOTICED;
    if (state === null || (state === "saved" && (wasUnsaved || isLong))) enteredAt = -Infinity;
    else if (performance.now() > until) return false;
    else await later(40);
    wasUnsaved ||= state === "unsaved";
  }
  return true;
};
