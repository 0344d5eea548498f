// @ts-check
// What is entered in fields: one report for each change, and of a secret only that it changed until it is complete.
import * as cb from "cuebook:core";
import { actedOn, described, send } from "./report.js";

const TEXTS = new Set(["text", "search", "tel", "url", "email", "password", "number"]);
/** Set by the browser's own pickers and sliders. */
const PICKED = new Set(["date", "datetime-local", "month", "week", "time", "color", "range"]);
const MOST_TEXT = 20000;
const TRUSTED_FOR = 60000;

/** The editing host or the element itself. */
const hostOf = (element) => {
  let host = element;
  for (let at = element; at; at = cb.composedParentOf(at)) if (cb.isEditingHost(at)) host = at;
  return host;
};
/** The field that an element is or stands in; null if it is none. */
export const fieldOf = (element) => {
  const tag = cb.tagOf(element);
  // A list that is always open shows its options in the page.
  if (tag === "option" || tag === "optgroup") return cb.closest(element, "select");
  if (tag === "textarea" || tag === "select" || (tag === "input" && !isButton(element))) return element;
  const host = hostOf(element);
  return cb.isEditingHost(host) ? host : null;
};
const isButton = (element) => ["button", "submit", "reset", "image"].includes(cb.typeOf(element));
export const isBox = (element) => ["checkbox", "radio"].includes(cb.typeOf(element));
/** Takes a line or more of text by keys. */
export const takesText = (element) =>
  cb.tagOf(element) === "textarea" || TEXTS.has(cb.typeOf(element)) || cb.isEditingHost(element);
/** Takes more than one line, so that Enter is a character. */
export const takesLines = (element) => cb.tagOf(element) === "textarea" || cb.isEditingHost(element);
/** What a press on it does is said by its change: the browser draws its list, picker or chooser. */
export const isSaidByChange = (element) =>
  ["select", "option", "optgroup"].includes(cb.tagOf(element)) ||
  cb.typeOf(element) === "file" ||
  PICKED.has(cb.typeOf(element));
/** The control of the label around an element; null if there is none. */
export const labelledBy = (element) => {
  for (let at = actedOn(element); at; at = cb.composedParentOf(at))
    if (cb.tagOf(at) === "label" && at instanceof HTMLLabelElement) return cb.control(at);
  return null;
};

/** When a person last pressed in a field or a key in it. What changes otherwise, scripts changed. */
const reached = new WeakMap();
export const reach = (element) => {
  const field = fieldOf(element) ?? labelledBy(element);
  if (field) reached.set(field, performance.now());
};
const isReached = (field) => performance.now() - (reached.get(field) ?? -Infinity) < TRUSTED_FOR;

/** Fields with a secret of which the last characters may still come. */
const unfinished = new Set();
/** The first of the boxes that share a text, else the field. */
const wholeOf = (field) => cb.rowOf(field)[0] ?? field;
const textOf = (field) => {
  const boxes = cb.boxesFrom(field);
  if (boxes.length > 1) return boxes.map((box) => cb.controlValue(box) ?? "").join("");
  return cb.valueOf(field) ?? "";
};
const withText = (what, field) => {
  const text = textOf(field);
  send({ what, target: described(field), text: cb.cut(text, MOST_TEXT), isCut: text.length > MOST_TEXT || undefined });
};
/** Completes the secrets of all fields but this one. */
export const finishOthers = (element) => {
  const kept = element && fieldOf(element) ? wholeOf(fieldOf(element)) : null;
  for (const field of unfinished) {
    if (field === kept) continue;
    unfinished.delete(field);
    if (cb.isConnected(field)) withText("secret", field);
  }
};

export const onInput = (element) => {
  const field = fieldOf(element);
  if (!field || !isReached(field) || isBox(field) || cb.tagOf(field) === "select" || cb.typeOf(field) === "file") return;
  const whole = wholeOf(field);
  if (!cb.isSensitive(field)) return withText("value", whole);
  unfinished.add(whole);
  send({ what: "typing", target: described(whole) });
};

/** The box of a press of a person that may turn it, until the press is over. */
let turning = null;
export const mayTurn = (box) => {
  turning = box;
  setTimeout(() => {
    if (turning === box) turning = null;
  }, 0);
};
export const onChange = (element) => {
  if (isBox(element)) {
    if (turning !== element) return;
    turning = null;
    send({ what: "check", target: described(element), on: cb.checked(element) });
  } else if (cb.tagOf(element) === "select") {
    if (!isReached(element)) return;
    const chosen = cb.optionsOf(element, 10000).filter((option) => option.selected);
    send({ what: "select", target: described(element), options: chosen.slice(0, 100) });
  } else if (cb.typeOf(element) === "file") {
    send({ what: "files", target: described(element), names: namesIn(element.files) });
  } else if (PICKED.has(cb.typeOf(element))) onInput(element);
};
export const namesIn = (files) => Array.from(files ?? [], (file) => cb.cut(file.name, 200)).slice(0, 50);
