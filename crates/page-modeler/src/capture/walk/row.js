// @ts-check
// The row of one thing to act on, without its position.
//
// A row is kept while nothing in its element, its labels and what it refers to changes; the texts
// and headings around it are compared. Everything else that a row depends on has to be noticed in `changes.js` or
// `measure.js`.
import * as cb from "cuebook:core";
import { attr, cut, shortText } from "cuebook:core";
import { memory } from "./memory.js";
import { kindOf } from "./reasons.js";
import { cssOf } from "./place.js";
import { aboutOf, iconOf, ligaturesOf } from "./context.js";

const FIELDS = new Set("text password multiline select check number range color file dateTime richText".split(" "));

const TYPED = new Set(["text", "password", "multiline"]);
/** What a field takes, and where an item stands in its list, as far as the markup says so. */
const boundsOf = (element, control) => {
  const bounds = {};
  const count = (key, name) => {
    const stated = (attr(element, name) ?? "").trim();
    if (/^[0-9]{1,9}$/.test(stated)) bounds[key] = Number(stated);
  };
  if (TYPED.has(control)) count("maxLength", "maxlength");
  const accept = control === "file" ? shortText(attr(element, "accept") ?? "", 200) : "";
  if (accept) bounds.accept = accept;
  count("position", "aria-posinset");
  if (bounds.position) count("setSize", "aria-setsize");
  return bounds;
};

const NAMING = /^(?:role$|title$|aria-)/;
/** Whether nothing but its own text can name an element, so that the browser need not be asked for its words. */
const isNamedByText = (element, tag, role) =>
  ((tag === "button" && role === "button") || (tag === "a" && role === "link")) &&
  !cb.attributeNames(element).some((name) => NAMING.test(name)) &&
  cb.childrenOf(element).every((child) => cb.nodeType(child) === 3) &&
  !cb.labelsOf(element).length &&
  !cb.generatedText(element, "::before") &&
  !cb.generatedText(element, "::after");

export const rowOf = (run, info, stand) => {
  const { element, tag, role, reason } = info;
  const row = {
    id: (info.id ||= cb.idOf(element)),
    tag: cut(tag, 60),
    role,
    name: cut(cb.nameOf(element), 400),
    reason,
    states: cb.statesOf(element),
    control: kindOf(element, role),
    depth: Math.min(info.structure, 60000),
    path: info.path,
  };
  const put = (key, text) => {
    if (text) row[key] = text;
  };
  const sensitive = cb.isSensitive(element);
  if (row.name && isNamedByText(element, tag, role)) row.isNamedByText = true;
  if (!row.name) put("fallback", cb.fallbackOf(element, tag, role));
  if (!FIELDS.has(row.control) && !/[\p{L}\p{N}]{2}/u.test(row.name)) put("icon", iconOf(element));
  put("title", shortText(attr(element, "title") ?? "", 200));
  if (!row.name && FIELDS.has(row.control)) {
    put("beside", cb.besideOf(element, tag, role));
    memory.surrounded.add(info);
  }
  if (/[a-z_]{3}/.test(row.name || row.fallback || "")) {
    const icons = ligaturesOf(element);
    if (icons.length) row.icons = icons;
  }
  put("description", cut(cb.descriptionOf(element), 300));
  if (sensitive)
    row.control =
      row.control === "text" || row.control === "plain" || row.control === "number" || row.control === "multiline"
        ? "password"
        : row.control;
  const drawn = tag === "input" ? cb.drawnChoice(element) : "";
  if (role === "combobox" && tag === "input") memory.surrounded.add(info);
  const value = drawn || cb.valueOf(element);
  if (value !== undefined && value !== null && value !== "") {
    row.value = cut(value, 2000);
    if (sensitive) {
      row.sensitive = true;
      run.secrets.push(row.value);
    }
  } else if (sensitive) row.sensitive = true;
  if (tag === "select") {
    row.options = cb.optionsOf(element, 100);
    put("value", cut(value ?? "", 500));
  }
  const labels = cb.labelTexts(element);
  if (labels.length) row.labels = labels.slice(0, 3).map((text) => cut(text, 200));
  put("placeholder", shortText(attr(element, "placeholder") ?? "", 200));
  put("alt", shortText(attr(element, "alt") ?? "", 200));
  const bounds = boundsOf(element, row.control);
  if (Object.keys(bounds).length) row.bounds = bounds;
  put("testId", info.testId);
  if (tag === "a" || tag === "area") {
    put("destination", cut(cb.destinationOf(element), 2000));
  }
  const form = cb.closest(element, "form");
  if (form)
    put("form", cut(attr(form, "name") || attr(form, "id") || (attr(form, "action") ?? "").split(/[?#]/)[0], 200));
  if (stand !== element) row.stand = cb.idOf(stand);
  const about = aboutOf(info, cb.calledBy(cb.nameOf(element), row.beside ?? "", row.fallback ?? ""));
  row.context = about.labels;
  row.about = about.key;
  info.rowTitle = about.titled ? run.title : null;
  put("css", cssOf(element, run));
  return row;
};
