// @ts-check
// The answer to a walk: all of it, or how it differs from the last one that was answered.
//
// Invariant: a difference names the walk that it builds on, by a stamp that only this document's script
// gives out. A caller with another stamp gets everything.
import * as cb from "cuebook:core";
import { attr, cut, headingIn, shortText } from "cuebook:core";
import { memory } from "./memory.js";
import { note, observer, watch } from "./changes.js";
import { isUntouched, KEPT_LIMIT, prepare } from "./measure.js";
import { distinguishTwins } from "./context.js";
import { count, metaOf, schemaType, stated } from "./sketch.js";
import { withoutDoubles } from "./doubles.js";
import { BOXES, contentShown, isTooDeep, NOTHING } from "./settle.js";
import { walkOver } from "./run.js";
import { challengeOf } from "./challenge.js";

export const kept = { view: null, full: null };
let stamp = Math.floor(Math.random() * 2 ** 40);
export const hundredths = (number) => Math.round(number * 100) / 100;
/** The text of a row, and what else of it depends on the walk. */
const written = (run, entry) => {
  const { info, row } = entry;
  const unique = row.testId ? run.testIds.get(row.testId) === 1 : undefined;
  const part = entry.part ? `${JSON.stringify(entry.part)}${entry.partText}` : "";
  if (
    info.json &&
    info.unique === unique &&
    info.lent === entry.destination &&
    info.scrollerTold === entry.scroller &&
    info.partTold === part
  )
    return info;
  info.partTold = part;
  info.unique = unique;
  info.lent = entry.destination;
  info.scrollerTold = entry.scroller;
  const json = JSON.stringify({
    ...row,
    testIdUnique: unique,
    destination: row.destination ?? entry.destination,
    scroller: entry.scroller || undefined,
    part: entry.part,
    partText: (entry.part && entry.partText) || undefined,
  });
  if (json !== info.json) {
    info.json = json;
    info.version = ++memory.versions;
  }
  return info;
};
const placeOf = ({ box, inView }) => [
  hundredths(box.x),
  hundredths(box.y),
  hundredths(box.width),
  hundredths(box.height),
  inView ? 1 : 0,
];
const answer = (options, { run, unwalked }) => {
  const entries = withoutDoubles(run.entries);
  distinguishTwins(entries);
  const scroller = cb.pageScroller();
  const html = cb.rootElement();
  const isEmpty = !run.candidates && !run.headings.length && !unwalked && contentShown() === NOTHING;
  const description = metaOf('meta[name="description"]') || metaOf('meta[property="og:description"]');
  const challenge = challengeOf(run.modal);
  const page = {
    ...aboutDocument(),
    viewport: {
      width: run.view.width,
      height: run.view.height,
      scrollX: globalThis.scrollX,
      scrollY: globalThis.scrollY,
      pageWidth: scroller ? cb.scrollWidth(scroller) : 0,
      pageHeight: scroller ? cb.scrollHeight(scroller) : 0,
      devicePixelRatio: globalThis.devicePixelRatio,
    },
    owners: run.owners,
    headings: run.headings,
    landmarks: run.landmarks,
    scrolled: run.scrolled,
    panes: run.panes,
    live: run.live,
    suspects: run.suspects,
    secrets: run.secrets,
    elements: memory.order.length,
    candidates: run.candidates,
    beyond: run.beyond,
    offView: run.offView,
    keyboard: run.keyboard,
    unwalked,
    empty: isEmpty || undefined,
    modal: run.modal ? shortText(cb.nameOf(run.modal) || headingIn(run.modal), 200) : undefined,
    challenge,
    meta: {
      pageType: metaOf('meta[property="og:type"]') || schemaType(),
      description,
      language: html ? shortText(attr(html, "lang") ?? "", 40) : "",
      hasPassword: count(document, "input[type=password]") > 0,
      stated: stated(),
    },
  };
  const covers = entries.flatMap(({ cover }, i) => (cover ? [[i, cover.ratio, cover.by]] : []));
  const last = kept[options.scope];
  const base = last && options.known && last.stamp === options.known ? last : null;
  const now = {
    stamp: 0,
    walk: memory.walks,
    changedIn: memory.changedIn,
    modal: run.modal,
    challenge,
    entries,
    infos: entries.map((entry) => written(run, entry)),
    versions: null,
    places: new Float64Array(entries.length * 5),
    stands: entries.filter((entry) => entry.inView).map((entry) => [entry.info.rowStand, entry.info.element]),
    hits: entries.filter((entry) => entry.inView).map((entry) => entry.hit),
  };
  now.versions = now.infos.map((info) => info.version);
  entries.forEach((entry, i) => now.places.set(placeOf(entry), i * 5));
  // What a password field holds is kept nowhere; closed roots that are still to be found are a change.
  const keepable = !run.suspects.length && !run.secrets.length && memory.order.length <= KEPT_LIMIT && !unwalked;
  if (keepable) now.stamp = ++stamp;
  const place = (i) => Array.from(now.places.subarray(i * 5, i * 5 + 5));
  const parts = [`{"page":${JSON.stringify({ ...page, stamp: now.stamp })},"covers":${JSON.stringify(covers)}`];
  if (base) {
    const shared = Math.min(base.infos.length, now.infos.length);
    let from = 0;
    while (from < shared && base.infos[from] === now.infos[from]) from++;
    let tail = 0;
    while (tail < shared - from && base.infos[base.infos.length - 1 - tail] === now.infos[now.infos.length - 1 - tail])
      tail++;
    const rows = [];
    const places = [];
    const renamed = [];
    const shift = base.infos.length - now.infos.length;
    const middle = now.infos.slice(from, now.infos.length - tail);
    now.infos.forEach((info, i) => {
      // A modal dialog takes the names away from all that it covers.
      if (info.builtIn > base.walk || base.modal !== run.modal) renamed.push(info.id);
      if (i >= from && i < now.infos.length - tail) {
        places.push(i, ...place(i));
        return;
      }
      const old = i < from ? i : i + shift;
      if (base.versions[old] !== now.versions[i]) rows.push(`[${i},${info.json}]`);
      for (let at = 0; at < 5; at++)
        if (base.places[old * 5 + at] !== now.places[i * 5 + at]) {
          places.push(i, ...place(i));
          break;
        }
    });
    parts.push(
      `,"base":${base.stamp},"from":${from},"tail":${tail},"rows":[${middle.map((info) => info.json).join()}]` +
        `,"changed":[${rows.join()}],"moved":${JSON.stringify(places)},"renamed":${JSON.stringify(renamed)}}`,
    );
  } else
    parts.push(
      `,"rows":[${now.infos.map((info) => info.json).join()}],"places":${JSON.stringify(Array.from(now.places))}}`,
    );
  kept[options.scope] = keepable ? now : null;
  for (const { info } of run.entries)
    if (info.row?.sensitive) {
      info.row = null;
      info.json = "";
    }
  if (memory.order.length > KEPT_LIMIT || unwalked) memory.everything = true;
  return parts.join("");
};
/** The answer for a document in which nothing can be measured. */
const unmeasured = (unwalked) =>
  JSON.stringify({ page: { ...aboutDocument(), unwalked }, rows: [], places: [], covers: [] });
const responseStatus = () => {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  return entry?.responseStatus;
};
const aboutDocument = () => ({
  url: cut(String(globalThis.location?.href ?? ""), 2000),
  origin: cut(String(globalThis.origin), 300),
  title: shortText(cb.title(document), 200),
  status: responseStatus() || undefined,
});
const hitsOf = (stands) =>
  stands.map(([stand]) => {
    const shown = cb.intersect(cb.clippedBox(stand), {
      x: 0,
      y: 0,
      width: globalThis.innerWidth,
      height: globalThis.innerHeight,
    });
    return cb.elementAt(shown.x + shown.width / 2, shown.y + shown.height / 2);
  });
export const run = (options) => (options.anew ? aside(() => runOnce(options)) : runOnce(options));
/**
 * What a walk keeps for the next one, counters aside.
 * @type {(keyof typeof memory)[]}
 */
const CACHED = [
  "infos", "order", "surrounded", "records", "targets", "everything", "roots", "surroundings", "panes", "animated",
  "extents", "changedIn",
];
/** Runs `work` on an empty cache, and restores the cache afterwards. */
const aside = (work) => {
  note(observer.takeRecords());
  const before = Object.fromEntries(CACHED.map((key) => [key, memory[key]]));
  const { view, full } = kept;
  memory.everything = true;
  try {
    return work();
  } finally {
    Object.assign(memory, before);
    Object.assign(kept, { view, full });
    for (const root of memory.roots) watch(root);
  }
};
/** Whether the walk that is kept is the one asked about, and no walk since found anything changed. */
const isKnown = (last, known) => last && known && last.stamp === known && last.changedIn === memory.changedIn;
/** The answer to a test is a value that changes without a trace. */
const isStillChallenged = (last) => !last.challenge || last.challenge === challengeOf(last.modal);
/** Whether nothing has left a trace since the walk that is `known`. */
export const isUnchanged = ({ scope, known }) => {
  const last = kept[scope];
  return isKnown(last, known) && isUntouched() && isStillChallenged(last);
};
const runOnce = (options) => {
  const began = performance.now();
  const all = cb.queryAll(document, "*");
  if ((memory.everything || !memory.order || all.length > memory.order.length + BOXES) && isTooDeep(all))
    return unmeasured(all.length);
  try {
    const changed = prepare();
    if (changed) memory.changedIn = memory.walks + 1;
    const last = kept[options.scope];
    if (
      !changed &&
      isKnown(last, options.known) &&
      isStillChallenged(last) &&
      hitsOf(last.stands).every((hit, i) => hit === last.hits[i])
    )
      return '{"same":true}';
    return answer(options, walkOver(options, began));
  } catch (error) {
    // No later walk may rely on the state of one that threw.
    memory.everything = true;
    throw error;
  }
};
