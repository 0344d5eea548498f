// @ts-check
// Where an element stands: its path for fingerprints, its selector for locators.
import * as cb from "cuebook:core";
import { attr, tagOf } from "cuebook:core";
import { firstElement, nextElement } from "./infos.js";

const HAND_WRITTEN = /^[A-Za-z][A-Za-z_-]{1,40}$/;
export const segmentOf = (element) => {
  const id = attr(element, "id");
  const role = attr(element, "role");
  return (
    tagOf(element).slice(0, 40) +
    (id && HAND_WRITTEN.test(id) ? `#${id}` : "") +
    (role && /^[a-z]{2,20}$/.test(role) ? `[${role}]` : "")
  );
};

// Positions among siblings, counted once per parent.
const ordinalsIn = (parent, ordinals) => {
  let known = ordinals.get(parent);
  if (known) return known;
  known = new Map();
  const counts = new Map();
  for (let child = firstElement(parent); child; child = nextElement(child)) {
    const count = (counts.get(tagOf(child)) ?? 0) + 1;
    counts.set(tagOf(child), count);
    known.set(child, count);
  }
  ordinals.set(parent, known);
  return known;
};
const SELECTOR_LIMIT = 900;
/** A selector of an element's place, from the nearest unique id down; nothing within shadow roots. */
export const cssOf = (element, run) => {
  if (cb.rootNode(element) !== document) return undefined;
  const chain = [];
  let selector = "";
  for (let up = element; up; up = cb.composedParentOf(up)) {
    const known = run.selectors.get(up);
    if (known !== undefined) {
      selector = known;
      break;
    }
    chain.push(up);
    if (chain.length > 1000) return undefined;
  }
  while (chain.length) {
    const up = chain.pop();
    if (selector !== null) {
      const id = attr(up, "id");
      const tag = tagOf(up);
      if (id && /^[A-Za-z][\w-]{0,60}$/.test(id) && cb.queryAll(document, `#${id}`).length === 1) selector = `#${id}`;
      else if (!/^[a-z][a-z0-9-]*$/i.test(tag)) selector = null;
      else {
        const parent = cb.parentNode(up);
        const step =
          tag === "html" || tag === "body"
            ? tag
            : `${tag}:nth-of-type(${parent ? (ordinalsIn(parent, run.ordinals).get(up) ?? 1) : 1})`;
        selector = selector ? `${selector} > ${step}` : step;
        if (selector.length > SELECTOR_LIMIT) selector = null;
      }
    } else {
      const id = attr(up, "id");
      if (id && /^[A-Za-z][\w-]{0,60}$/.test(id) && cb.queryAll(document, `#${id}`).length === 1) selector = `#${id}`;
    }
    run.selectors.set(up, selector);
  }
  return selector ?? undefined;
};
