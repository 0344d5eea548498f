// @ts-check
// What leaves the page: one text for each thing that a person did, through a function that only our world has.
import * as cb from "cuebook:core";

export const BINDING = "__cuebookDone";
const MOST_WAITING = 200;
/** Reports from before the function was there. */
const waiting = [];

/** Sends a report. Elements of the page cannot stand in for the function: only an own property of the world counts. */
export const send = (report) => {
  const text = JSON.stringify(report);
  if (!Object.hasOwn(globalThis, BINDING)) {
    if (waiting.length < MOST_WAITING) waiting.push(text);
    return;
  }
  for (const one of waiting.splice(0)) globalThis[BINDING](one);
  globalThis[BINDING](text);
};

/** What a person acts on. */
export const ACTED_ON = `${cb.ACTABLE},label,[role=option],[role=treeitem],[role=gridcell],[role=menuitemradio],[role=menuitemcheckbox]`;
const DEEPEST = 16;

/** The nearest element that a person acts on; null if there is none within reach. */
export const actedOn = (element) => {
  for (let at = element, up = 0; at && up < DEEPEST; at = cb.composedParentOf(at), up++)
    if (cb.matches(at, ACTED_ON)) return at;
  return null;
};

/**
 * An element as it is now: its number and those of what is around it, and its facts without any value, by which it can be
 * described if it is no candidate. `own` is how many of the numbers, from the first, are those of the control itself.
 */
export const described = (element) =>
  cb.once(() => {
    const path = [];
    const control = actedOn(element);
    let own = 0;
    for (let at = element; at && path.length < DEEPEST; at = cb.composedParentOf(at)) {
      path.push(cb.idOf(at));
      if (at === control) own = path.length;
    }
    const facts = cb.factsOf(control ?? element, {});
    for (const name of ["value", "selectedValues", "selectedLabels", "classes"]) delete facts[name];
    const text = facts.sensitive ? "" : cb.ownText(control ?? element, 80);
    return { path, own, facts, text };
  });
