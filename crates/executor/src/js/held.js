// @ts-check
// What a run entered here, and whether it is still there.
import * as cb from "cuebook:core";
import { act, attr, isConnected, queryWithin, rootElement } from "./reads.js";
import { describe, element, fieldOf } from "./common.js";
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
/** Keeps what a field holds now; `null` for what holds nothing that could be compared. */
act.keep = (id) => {
  const target = element(id);
  const field = target && fieldOf(target);
  const value = field ? heldIn(field) : null;
  if (!field || value === null) return null;
  const role = cb.roleOf(field);
  enteredAt = performance.now();
  kept.set(cb.idOf(field), { role, about: { key: cb.meaningOf(field).key } });
  const called = `${role || describe(field)} ${JSON.stringify(cb.cut(cb.nameOf(field), 100))}`;
  return {
    id: cb.idOf(field),
    called,
    value: cb.cut(value, 20000),
    sensitive: cb.isSensitive(field),
    suggests: suggests(field),
  };
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
    const field = own && isConnected(own) ? own : standIn(id);
    const value = field ? heldIn(field) : null;
    return { id, value: value === null ? null : cb.cut(value, 20000), sensitive: !!field && cb.isSensitive(field) };
  });

const SAYS_STATE = "[role=status], [aria-live], output";
const UNSAVED = /\b(?:not saved|unsaved|saving)\b/i;
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
    else await new Promise((resolve) => setTimeout(resolve, 40));
    wasUnsaved ||= state === "unsaved";
  }
  return true;
};
