// @ts-check
// The meaning of the step's targets when they were observed or found: compared again when they are armed, and at the
// first event of the gesture. A page may sort, rename and reuse the elements under the pointer at any moment before.
import * as cb from "cuebook:core";
import { act } from "./reads.js";
import { element, fieldOf, openedBy } from "./common.js";
import { ANY_CHANGE } from "./summary.js";
import { follow } from "./watch.js";

let meant = [];
const before = {};
/** Whether the document changed since the targets were set, and since what surrounds them was looked at last. */
let stirred = false;
let isNews = false;
const stirring = new MutationObserver(() => {
  stirred = isNews = true;
});
const hasStirred = () => {
  if (stirring.takeRecords().length) stirred = isNews = true;
  return stirred;
};
/** Whether the document changed since this was asked last: a key that changes nothing costs nothing. */
const hasNews = () => {
  hasStirred();
  const was = isNews;
  isNews = false;
  return was;
};
/** An element in words, with its context. */
export const describeMeaning = (found) => {
  const { labels } = cb.meaningOf(found);
  const place = labels
    .slice(0, 3)
    .map(([kind, text]) => `${kind}: ${text}`)
    .join(", ");
  return cb.cut(`${cb.roleOf(found)} ${JSON.stringify(cb.cut(cb.nameOf(found), 100))}${place && ` [${place}]`}`, 300);
};
const fitOf = (text, wanted) => {
  if (wanted === undefined || text === undefined) return text;
  const [seen, stated] = [cb.collapse(text), cb.collapse(wanted)];
  return seen === stated
    ? 0
    : seen.toLowerCase() === stated.toLowerCase()
      ? 1
      : seen.toLowerCase().includes(stated.toLowerCase())
        ? 2
        : 3;
};
const WORDS = {
  role: "name",
  label: "labels",
  placeholder: "placeholder",
  alt: "alt",
  title: "title",
  testId: "testId",
  text: "text",
};
/**
 * A key of everything that decides which of these rows a locator means.
 * @param {any} found
 */
const keyOfRows = ({ reported: { rows, within, has, hasNot }, elements }, { id, filter, raw, stated }) => {
  const target = element(id);
  // What a control opens may have its label, too.
  const opened = target ? openedBy(target) : [];
  const isOther = (found) => found === target || !opened.includes(found);
  const wordsOf = (facts) => [facts[WORDS[filter.by]]].flat().map((text) => fitOf(text, filter.text));
  return JSON.stringify([
    rows
      .map(({ facts, parent }, at) => ({ found: elements[at], facts, parent }))
      .filter(({ found }) => isOther(found))
      .map(({ found, facts, parent }) => [
        cb.idOf(found),
        parent,
        wordsOf(facts),
        raw ? facts.text : 0,
        stated ? { ...facts.states, focused: undefined } : 0,
      ]),
    [within, has, hasNot].map(
      (inner) =>
        inner && [
          inner.of,
          inner.target.rows.map(({ facts }) => [
            facts.name,
            facts.labels,
            facts.placeholder,
            facts.alt,
            facts.title,
            facts.testId,
            facts.text,
          ]),
        ],
    ),
  ]);
};
const find = (wanted) => {
  try {
    const found = follow(wanted.filter, wanted.ask);
    const { reported, elements } = found;
    return { key: keyOfRows(found, wanted), ids: elements.map(cb.idOf), target: reported };
  } catch {
    return null;
  }
};
/** Sets the targets that are compared from now on; returns what their locators find here, or what changed already. */
export const mean = (list) =>
  cb.beforeArrival(before, () => {
    stirring.disconnect();
    stirred = isNews = false;
    meant = [];
    const found = [];
    for (const wanted of list) {
      const target = element(wanted.id);
      if (!target) continue;
      if (wanted.about && !cb.isAbout(target, wanted.about)) return { changed: describeMeaning(target), found: [] };
      if (wanted.filter) {
        // What is shown around it now has not come with the press.
        cb.meaningOf(target);
        const now = find(wanted);
        if (!now) continue;
        wanted.key = now.key;
        wanted.name = cb.nameOf(target);
        found.push({ id: wanted.id, ids: now.ids, target: now.target });
      }
      if (wanted.lasts) wanted.items = cb.itemNamesOf(target);
      meant.push(wanted);
    }
    if (found.length || meant.some(({ lasts }) => lasts))
      for (const root of [document, ...cb.notedRoots()]) stirring.observe(root, ANY_CHANGE);
    return { changed: null, found };
  });
const firstChange = () => {
  for (const wanted of meant) {
    const target = element(wanted.id);
    if (!target) continue;
    const same = wanted.about
      ? cb.isAbout(target, wanted.about)
      : (!hasStirred() && cb.nameOf(target) === wanted.name) || find(wanted)?.key === wanted.key;
    if (!same) return describeMeaning(target);
  }
  return null;
};
/**
 * What a target has become, in words; null while all are unchanged. What only appears under the pointer does not count.
 */
export const changedMeaning = () => cb.once(firstChange) && cb.onArrival(before, false, firstChange);
/**
 * What the place of a drop, or the field that is typed into, has become since the gesture began, in words; null while
 * what names the rows, items and dialogs around it is unchanged. What else they say may be an answer to the input, and
 * so may a name that shows what was entered.
 */
export const changedItems = () => {
  const wanted = meant.find(({ lasts }) => lasts);
  const found = wanted && hasNews() && element(wanted.id);
  if (!found) return null;
  const names = itemsAround(found);
  const entered = cb.collapse(cb.valueOf(fieldOf(found)) ?? "");
  const isSame = (name, at) => name === wanted.items[at] || (entered !== "" && name?.includes(entered));
  return names.length >= wanted.items.length && wanted.items.every((_, at) => isSame(names[at], at))
    ? null
    : describeMeaning(found);
};
/** The page's own listeners have run on an event of ours: what they changed is their answer to it. */
export const acceptItems = () => {
  const wanted = meant.find(({ lasts }) => lasts);
  const found = wanted && hasNews() && element(wanted.id);
  if (found) wanted.items = itemsAround(found);
};
/** All that an element means but for what the pointer brought: a key to compare. */
export const aroundOf = (found) => cb.onArrival(before, true, () => cb.meaningOf(found).key);
/** What names the rows, items and dialogs around an element. */
export const itemsAround = (found) => cb.onArrival(before, true, () => cb.itemNamesOf(found));
/** Whether an element still has this meaning, and what it is now, in words. */
act.isAbout = (id, about) =>
  cb.once(() => {
    const found = element(id);
    return found && { same: cb.isAbout(found, about), now: describeMeaning(found) };
  });
/** The only visible element other than `id` with this role and meaning. */
export const findAbout = (id, role, about) =>
  cb.once(() => {
    const found = [];
    cb.everyElement((one) => {
      if (cb.roleOf(one) === role && cb.idOf(one) !== id && cb.isVisible(one) && cb.isAbout(one, about))
        found.push(one);
      return found.length < 2;
    });
    return found.length === 1 ? cb.idOf(found[0]) : null;
  });
act.findAbout = findAbout;
