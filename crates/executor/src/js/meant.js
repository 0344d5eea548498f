// What the step's targets were when they were observed or found: compared once more when they are armed, and at the
// first event of the gesture. A page may sort, rename and reuse what stands under the pointer at any moment before.
let meant = [];
const before = {};
let stirred = false;
const stirring = new MutationObserver(() => { stirred = true; });
const hasStirred = () => { stirred ||= stirring.takeRecords().length > 0; return stirred; };
/** An element in words, with where it stands. */
const told = (found) => {
  const { labels } = cb.meaningOf(found);
  const place = labels.slice(0, 3).map(([kind, text]) => `${kind}: ${text}`).join(", ");
  return cb.cut(`${cb.roleOf(found)} ${JSON.stringify(cb.cut(cb.nameOf(found), 100))}${place && ` [${place}]`}`, 300);
};
const fitOf = (text, wanted) => {
  if (wanted === undefined || text === undefined) return text;
  const [seen, stated] = [cb.collapse(text), cb.collapse(wanted)];
  return seen === stated ? 0 : seen.toLowerCase() === stated.toLowerCase() ? 1 : seen.toLowerCase().includes(stated.toLowerCase()) ? 2 : 3;
};
const WORDS = { role: "name", label: "labels", placeholder: "placeholder", alt: "alt", title: "title", testId: "testId", text: "text" };
/** All that decides which of these rows a locator means: equal keys, the same answer. */
const keyOfRows = ({ told: { rows, within, has, hasNot }, elements }, filter, raw) => JSON.stringify([
  rows.map(({ facts, parent }, at) => {
    const words = facts[WORDS[filter.by]];
    return [cb.idOf(elements[at]), parent, [words].flat().map((text) => fitOf(text, filter.text)), raw ? [facts.text, { ...facts.states, focused: undefined }] : 0];
  }),
  [within, has, hasNot].map((inner) => inner && [inner.of, inner.target.rows.map(({ facts }) => [facts.name, facts.labels, facts.placeholder, facts.alt, facts.title, facts.testId, facts.text])]),
]);
const find = (one) => {
  try {
    const found = follow(one.filter, one.ask);
    return { key: keyOfRows(found, one.filter, one.raw), ids: found.elements.map(cb.idOf), target: found.told };
  } catch {
    return null;
  }
};
/** Notes what is meant from now on; answers with what a locator finds here, or with what is meant no more. */
const mean = (list) => cb.beforeArrival(before, () => {
  stirring.disconnect();
  stirred = false;
  meant = [];
  const found = [];
  for (const one of list) {
    const target = element(one.id);
    if (!target) continue;
    if (one.about && !cb.isAbout(target, one.about)) return { changed: told(target), found: [] };
    if (one.filter) {
      const now = find(one);
      if (!now) continue;
      one.key = now.key;
      one.name = cb.nameOf(target);
      found.push({ id: one.id, ids: now.ids, target: now.target });
    }
    meant.push(one);
  }
  if (found.length) for (const root of [document, ...cb.notedRoots()]) stirring.observe(root, ANY_CHANGE);
  return { changed: null, found };
});
const firstChange = (isFirst) => {
  for (const one of meant) {
    const target = element(one.id);
    // Between two events of a gesture a locator may come to mean something else; the target does not.
    if (!target || !one.about && !isFirst) continue;
    const same = one.about ? cb.isAbout(target, one.about) : !hasStirred() && cb.nameOf(target) === one.name || find(one)?.key === one.key;
    if (!same) return told(target);
  }
  return null;
};
/** What a target has become, in words; null while all are what they were. What only the pointer brings out does not count. */
const changedMeaning = (isFirst) => cb.once(() => firstChange(isFirst)) && cb.onArrival(before, () => firstChange(isFirst));
/** Whether an element is still about what it was, and what it is called now. */
act.isAbout = (id, about) => cb.once(() => { const found = element(id); return found && { same: cb.isAbout(found, about), now: told(found) }; });
/** The only visible element of a role that is about something, other than `id`. */
act.findAbout = (id, role, about) => cb.once(() => {
  const found = [];
  cb.everyElement((one) => {
    if (cb.roleOf(one) === role && cb.idOf(one) !== id && cb.isVisible(one) && cb.isAbout(one, about)) found.push(one);
    return found.length < 2;
  });
  return found.length === 1 ? cb.idOf(found[0]) : null;
});
/** Whether an element stands where a context label says, such as `row: john@example.com, dialog: Users`. */
act.standsIn = (id, label) => cb.once(() => {
  const found = element(id);
  if (!found) return false;
  const labels = cb.meaningOf(found).labels.map(([kind, text]) => `${kind}: ${text}`);
  return labels.some((near) => near === label || labels.some((far) => `${near}, ${far}` === label));
});
