// @ts-check
// Moving the page and its panes.
import * as cb from "cuebook:core";
import { act, getter, method, rectOf, rootElement, scrollingElement } from "./reads.js";
import { describe, element, frame } from "./common.js";
import { scrollOffset, scrollToOffset } from "./actionable.js";
import { isLate } from "./gesture.js";
import { watching } from "./watch.js";

const clientWidth = getter(Element.prototype, "clientWidth");
export const clientHeight = getter(Element.prototype, "clientHeight");
const scrollWidth = getter(Element.prototype, "scrollWidth");
const scrollHeight = getter(Element.prototype, "scrollHeight");
const scrollByOffset = method(Element.prototype, "scrollBy");
const holdsMore = (found) => scrollHeight(found) > clientHeight(found) || scrollWidth(found) > clientWidth(found);
const thePage = () => scrollingElement(document) ?? rootElement(document);
/** The extent of what is seen of the content. */
const viewOf = (scroller) =>
  scroller === thePage()
    ? { width: globalThis.innerWidth, height: globalThis.innerHeight }
    : { width: clientWidth(scroller), height: clientHeight(scroller) };
const PANES = 10;
/** What scrolls in the view, short of the page; the largest first. Many applications scroll a pane only. */
const panes = () => {
  const found = new Set();
  for (const x of [1, 3, 5])
    for (const y of [1, 3, 5]) {
      const hit = cb.elementAt((globalThis.innerWidth * x) / 6, (globalThis.innerHeight * y) / 6);
      let pane = hit && cb.lookOf(hit).scrolls && cb.overflows(hit) ? hit : hit && cb.scrollerOf(hit);
      for (; pane && found.size < PANES; pane = cb.scrollerOf(pane)) found.add(pane);
    }
  const size = (pane) => clientWidth(pane) * clientHeight(pane);
  return Array.from(found).sort((a, b) => size(b) - size(a));
};
/** Scrolls what `id` names, the page, or, where the page cannot move any further, the largest pane that can. */
act.scrollBy = (id, how) => {
  const target = id === null ? thePage() : element(id);
  if (!target || isLate()) return null;
  watching?.begin();
  if (id === null) return { moved: moveBy(target, how) || panes().some((pane) => moveBy(pane, how)) };
  const scroller = holdsMore(target) ? target : (cb.scrollerOf(target) ?? scrollingElement(document) ?? target);
  return { moved: moveBy(scroller, how) };
};
const moveBy = (scroller, how) => {
  const before = [scrollOffset.left(scroller), scrollOffset.top(scroller)];
  const { width, height } = viewOf(scroller);
  const far = 0.85;
  const delta = { up: [0, -far * height], down: [0, far * height], left: [-far * width, 0], right: [far * width, 0] }[
    how.direction
  ];
  const options = { behavior: "instant" };
  if (how.direction === "top") scrollToOffset(scroller, { top: 0, ...options });
  else if (how.direction === "bottom") scrollToOffset(scroller, { top: scrollHeight(scroller), ...options });
  else scrollByOffset(scroller, { left: delta?.[0] ?? how.x ?? 0, top: delta?.[1] ?? how.y ?? 0, ...options });
  return scrollOffset.left(scroller) !== before[0] || scrollOffset.top(scroller) !== before[1];
};

const runsAcross = (direction) => direction === "left" || direction === "right";
/** Pixels that a scroller can still move in a direction. */
const roomOf = (scroller, direction) => {
  const { width, height } = viewOf(scroller);
  const left = Math.abs(scrollOffset.left(scroller));
  const top = scrollOffset.top(scroller);
  return {
    up: top,
    down: scrollHeight(scroller) - height - top,
    left,
    right: scrollWidth(scroller) - width - left,
  }[direction];
};
/** Whether there is more of its content along a direction than it shows. */
const isLonger = (scroller, direction) => {
  const { width, height } = viewOf(scroller);
  return runsAcross(direction) ? scrollWidth(scroller) > width + 1 : scrollHeight(scroller) > height + 1;
};
/** What scrolls an element along a direction: itself, what holds it, or the page. One that is still empty may fill. */
const scrollerFor = (found, direction) => {
  const chain = cb.lookOf(found).scrolls && found !== thePage() ? [found] : [];
  for (let up = cb.scrollerOf(found); up && chain.length < PANES; up = cb.scrollerOf(up)) chain.push(up);
  return chain.find((scroller) => isLonger(scroller, direction)) ?? chain[0] ?? thePage();
};
/** What holds most of these elements; null where none of them is there. */
const holderOf = (ids, direction) => {
  const counts = new Map();
  for (const found of ids.map(element)) {
    const holder = found && (cb.scrollerOf(found) ?? thePage());
    if (holder) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  }
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return most && isLonger(most[0], direction) ? most[0] : null;
};
/** What may hold something that is looked for: its container or what holds its kin, then by how much is not seen. */
const seekers = ({ container, kin, direction }) => {
  if (container !== null) {
    const found = element(container);
    return found ? [scrollerFor(found, direction)] : [];
  }
  const unseen = (scroller) => {
    const { width, height } = viewOf(scroller);
    return roomOf(scroller, direction) * (runsAcross(direction) ? height : width);
  };
  const others = [thePage(), ...panes()]
    .filter((scroller) => roomOf(scroller, direction) > 1)
    .sort((a, b) => unseen(b) - unseen(a));
  return [holderOf(kin, direction), ...others].filter((scroller) => scroller);
};
const placeOf = (scroller) => {
  const { left, top, width, height } =
    scroller === thePage() ? { left: 0, top: 0, ...viewOf(scroller) } : rectOf(scroller);
  const shown = [1, 3, 5].map((y) => cb.elementAt(left + width / 2, top + (height * y) / 6));
  return {
    x: scrollOffset.left(scroller),
    y: scrollOffset.top(scroller),
    width: scrollWidth(scroller),
    height: scrollHeight(scroller),
    shows: shown.map((hit) => (hit ? cb.cut(cb.textOf(hit), 100) : "")).join("\n"),
  };
};
const nameOf = (scroller) => (scroller === thePage() ? "the page" : describe(scroller));
/** Moves on by most of a view, in what was moved last or else what comes next; null where nothing is left to move. */
act.scrollOn = async (search) => {
  if (isLate()) return null;
  const next = () => {
    const all = seekers(search);
    // A page that is still empty may fill.
    const some = all.length || search.container !== null ? all : [thePage()];
    return some.find((scroller) => !search.spent.includes(cb.idOf(scroller)));
  };
  const scroller = (search.current && element(search.current)) || next();
  if (!scroller) return null;
  watching?.begin();
  const before = placeOf(scroller);
  moveBy(scroller, search);
  await frame();
  await frame();
  return { id: cb.idOf(scroller), name: nameOf(scroller), before, after: placeOf(scroller) };
};
act.placeOf = (id) => {
  const scroller = element(id);
  return scroller ? placeOf(scroller) : null;
};
const MAX_CALLED = 2000;
/** What can be acted on and has these words in its name, the first three. */
const called = (words) => {
  const isCalled = (one) => cb.nameOf(one).toLowerCase().includes(words.toLowerCase()) && cb.isVisible(one);
  const all = words ? Array.from(cb.queryAll(document, cb.ACTABLE)).slice(0, MAX_CALLED).filter(isCalled) : [];
  return all.slice(0, 3).map((one) => `${cb.roleOf(one)} ${JSON.stringify(cb.cut(cb.nameOf(one), 80))}`);
};
/**
 * What is called by the `words` of a locator that found nothing, what lies beyond the lower edge of the page and its
 * panes, the most first, and whether anything was scrolled.
 */
act.beyond = (words) => cb.once(() => {
  const all = [thePage(), ...panes()];
  const below = all.map((scroller) => ({ name: nameOf(scroller), pixels: Math.round(roomOf(scroller, "down")) }));
  return {
    below: below.filter(({ pixels }) => pixels > 1).sort((a, b) => b.pixels - a.pixels),
    scrolled: all.some((scroller) => scrollOffset.top(scroller) > 1),
    called: called(words),
  };
});
