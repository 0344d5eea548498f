// Whether an element can be acted on, and at which point of its frame.
const BACKOFF = [0, 20, 100, 100, 300];
const ALIGN = ["nearest", "center", "end", "start"];
const scrollTo = method(Element.prototype, "scrollIntoView");
const boxOf = (found) => {
  const { x, y, width, height } = rectOf(found);
  return { x, y, width, height };
};
const sameBox = (a, b) => a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
const inView = (point) => point.x >= 0 && point.y >= 0 && point.x < globalThis.innerWidth && point.y < globalThis.innerHeight;

/** Where to point: the stated position, or the middle of the first fragment that has an area. */
const pointOn = (found, position, clip) => {
  const box = rectOf(found);
  if (position) return { x: box.x + position.x, y: box.y + position.y };
  const fragments = Array.from(rectsOf(found)).filter((part) => part.width > 0 && part.height > 0);
  if (!fragments.length) return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  if (!clip) {
    const part = fragments[0];
    return { x: part.x + part.width / 2, y: part.y + part.height / 2 };
  }
  for (const part of fragments) {
    const left = Math.max(0, part.left);
    const top = Math.max(0, part.top);
    const right = Math.min(globalThis.innerWidth, part.right);
    const bottom = Math.min(globalThis.innerHeight, part.bottom);
    if (right > left && bottom > top) return { x: (left + right) / 2, y: (top + bottom) / 2 };
  }
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};

const tryPoint = (found, need, clip) => {
  const point = pointOn(found, need.position, clip);
  if (!inView(point)) return { fail: "notInView" };
  if (!need.hit) return { point };
  const hit = cb.elementAt(point.x, point.y);
  if (receives(found, hit)) return { point };
  return { fail: "covered", by: hit ? blockerOf(hit, found) : "the edge of the page" };
};

const check = async (id, need, round) => {
  const found = element(id);
  if (!found) return { fail: "stale" };
  const shown = need.standIn ? cb.standInOf(found) ?? found : found;
  if (need.visible && !cb.isVisible(shown)) return { fail: "notVisible" };
  const states = need.enabled || need.editable ? cb.statesOf(found) : {};
  if (need.enabled && states.disabled) return { fail: "notEnabled" };
  const slides = found instanceof HTMLInputElement && inputType(found) === "range";
  if (need.editable && !states.editable && !slides) return { fail: states.disabled ? "notEnabled" : "notEditable" };
  if (need.stable) {
    // Animations advance once a frame, so what stands here now is the last frame. The page's own callbacks of the
    // next one may run after ours: what it draws is known once they are done.
    const last = boxOf(shown);
    await frame();
    await later(0);
    if (!isConnected(found)) return { fail: "stale" };
    if (!sameBox(last, boxOf(shown))) return { fail: "notStable" };
  }
  if (!need.scroll) return { ok: true, box: boxOf(shown) };
  let tried = tryPoint(shown, need, false);
  if (tried.fail) {
    const clipped = tryPoint(shown, need, true);
    if (!clipped.fail && round > 0) tried = clipped;
  }
  for (let turn = 0; tried.fail && round < ALIGN.length && turn < 1; turn++) {
    const align = ALIGN[round % ALIGN.length];
    const before = boxOf(shown);
    scrollTo(shown, { block: align, inline: align, behavior: "instant" });
    await frame();
    tried = tryPoint(shown, need, true);
    if (!tried.fail && need.stable && !sameBox(before, boxOf(shown))) {
      const settled = boxOf(shown);
      await frame();
      if (!sameBox(settled, boxOf(shown))) return { fail: "notStable" };
    }
  }
  if (tried.fail) return tried;
  return { ok: true, x: tried.point.x, y: tried.point.y, box: boxOf(shown), receiver: cb.idOf(shown) };
};

/** Checks until all holds or `budget` milliseconds are over; the last reason is the answer then. */
act.ready = async (id, need, budget) => {
  const end = performance.now() + budget;
  for (let round = 0; ; round++) {
    const answer = await check(id, need, round);
    const left = end - performance.now();
    if (answer.ok || answer.fail === "stale" || left <= 0) return { ...answer, now: performance.now() };
    const patience = round < ALIGN.length && (answer.fail === "covered" || answer.fail === "notInView") ? 0 : BACKOFF[Math.min(round, BACKOFF.length - 1)];
    await later(Math.min(left, patience));
  }
};
/** Whether the owner of a child frame is what is hit at a point of this frame. */
act.ownerAt = (id, x, y) => {
  const owner = element(id);
  if (!owner) return { fail: "stale" };
  if (!inView({ x, y })) return { fail: "notInView" };
  const hit = cb.elementAt(x, y);
  return hit === owner ? { ok: true } : { fail: "covered", by: hit ? blockerOf(hit, owner) : "the edge of the page" };
};
act.reveal = (id) => {
  const found = element(id);
  if (!found) return false;
  scrollTo(found, { block: "center", inline: "center", behavior: "instant" });
  return true;
};
/** Settles once the document has been read to its end, or after `budget` milliseconds. */
act.loaded = (budget) => new Promise((resolve) => {
  const state = () => ({ state: readyState(document), status: performance.getEntriesByType("navigation")[0]?.responseStatus ?? 0 });
  if (readyState(document) !== "loading") return resolve(state());
  setTimeout(() => resolve(state()), budget);
  Reflect.apply(EventTarget.prototype.addEventListener, document, ["readystatechange", () => resolve(state()), { once: true }]);
});
