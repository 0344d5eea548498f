// What changes while a step is under way: facts of the watched targets, and a summary of all else.
const NOTABLE = "dialog, [role=dialog], [role=alertdialog], [role=alert], [role=status], [role=menu], [role=listbox], [role=tooltip], [role=row], tr, [popover]";
const MAX_SAMPLES = 300;
let watching = null;

const sampleTargets = (watch) => {
  const targets = {};
  for (const { ref, id, filter, ask } of watch.targets) {
    if (id !== undefined) {
      const found = element(id);
      targets[ref] = { rows: found ? [{ facts: cb.factsOf(found, ask) }] : [] };
    } else if (filter) {
      try {
        const { rows, skipped } = cb.locate(filter, ask);
        // Beyond a handful only their number matters; a locator by text compares the texts of all.
        targets[ref] = { rows: rows.map(({ facts, parent }) => ({ facts, parent })), skipped };
      } catch (error) {
        targets[ref] = null;
      }
    }
  }
  return targets;
};
const keyOf = (watch, targets) => JSON.stringify(targets, watch.geometry ? undefined : (key, value) => (key === "box" || key === "inViewport" ? undefined : value));
const stateOf = (found) => {
  if (!found || !isConnected(found)) return null;
  const { focused, ...states } = cb.statesOf(found);
  return JSON.stringify([states, cb.valueOf(found) ?? null, tagOf(found) === "select" ? cb.optionsOf(found, 100) : null]);
};

const startWatch = (spec) => {
  const origin = performance.now();
  const watch = {
    targets: spec.targets, geometry: spec.geometry, pending: [], waiters: [], last: null, cost: 0, ended: 0, timer: 0, started: false,
    added: 0, removed: 0, attributes: 0, texts: 0, notable: [], scrolled: false, told: false,
    focus: activeElement(), main: spec.main ? element(spec.main) : null, state: null, url: location.href, title: titleOf(document),
  };
  watch.state = stateOf(watch.main);
  const snap = () => {
    const begun = performance.now();
    const targets = cb.once(() => sampleTargets(watch));
    const key = keyOf(watch, targets) + location.href + "\u0000" + titleOf(document);
    watch.ended = performance.now();
    watch.cost = watch.ended - begun;
    return { key, sample: { t: Math.max(0, begun - origin), url: cb.cut(location.href, 2000), title: cb.cut(titleOf(document), 500), targets } };
  };
  const wake = () => {
    for (const resolve of watch.waiters.splice(0)) resolve();
  };
  const take = () => {
    const { key, sample } = snap();
    if (key === watch.last) return;
    watch.last = key;
    if (watch.pending.length >= MAX_SAMPLES) watch.pending.pop();
    watch.pending.push(sample);
    wake();
  };
  watch.hasEffect = () => watch.added + watch.removed + watch.attributes + watch.texts > 0 || watch.scrolled || activeElement() !== watch.focus || stateOf(watch.main) !== watch.state || location.href !== watch.url || titleOf(document) !== watch.title;
  const changed = () => {
    // A costly question is not asked more than half of the time.
    const rest = watch.cost > 4 ? watch.cost - (performance.now() - watch.ended) : 0;
    if (rest <= 0) take();
    else if (!watch.timer) watch.timer = setTimeout(() => { watch.timer = 0; if (watching === watch) take(); }, rest);
    if (!watch.told && watch.hasEffect()) wake();
  };
  const note = (sign, node) => {
    if (watch.notable.length >= 10 || !isElement(node)) return;
    const of = (found) => {
      if (watch.notable.length >= 10) return;
      const role = cb.roleOf(found);
      const name = sign === "+" ? cb.nameOf(found) : attr(found, "aria-label");
      watch.notable.push(cb.cut(`${sign}${role === "generic" ? describe(found) : role}${name ? ` ${JSON.stringify(name)}` : ""}`, 200));
    };
    if (matches(node, NOTABLE)) return of(node);
    let budget = 5;
    for (const inner of queryWithin(node, NOTABLE)) {
      if (budget-- <= 0) break;
      of(inner);
    }
  };
  const observed = new WeakSet();
  const observer = new MutationObserver((records) => {
    if (watching !== watch) return;
    for (const record of records) {
      if (record.type === "attributes") watch.attributes++;
      else if (record.type === "characterData") watch.texts++;
      else {
        for (const node of record.addedNodes) {
          if (nodeType(node) !== 1) { watch.texts++; continue; }
          watch.added++;
          adopt(node);
          note("+", node);
        }
        for (const node of record.removedNodes) {
          if (nodeType(node) !== 1) { watch.texts++; continue; }
          watch.removed++;
          note("-", node);
        }
      }
    }
    changed();
  });
  const observe = (root) => {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  };
  const adopt = (node) => {
    const roots = (found) => {
      const root = cb.shadowOf(found);
      if (!root) return;
      observe(root);
      for (const inner of root.querySelectorAll("*")) roots(inner);
    };
    roots(node);
    for (const inner of queryWithin(node, "*")) roots(inner);
  };
  observe(document);
  cb.everyElement((found) => {
    const root = cb.shadowOf(found);
    if (root) observe(root);
  });
  const onEvent = () => { if (watching === watch) changed(); };
  const onScroll = () => { watch.scrolled = true; onEvent(); };
  const events = ["input", "change", "focusin", "focusout", "toggle", "hashchange", "popstate", "transitionend", "animationend"];
  for (const type of events) globalThis.addEventListener(type, onEvent, true);
  globalThis.addEventListener("scroll", onScroll, true);
  // Properties that script sets and styles that change tell nobody.
  const poll = () => {
    if (watching !== watch) return;
    changed();
    watch.poll = setTimeout(poll, Math.max(40, watch.cost * 8));
  };
  watch.poll = setTimeout(poll, 40);
  watch.stop = () => {
    observer.disconnect();
    clearTimeout(watch.poll);
    clearTimeout(watch.timer);
    for (const type of events) globalThis.removeEventListener(type, onEvent, true);
    globalThis.removeEventListener("scroll", onScroll, true);
    wake();
  };
  watch.take = take;
  // The first event of the gesture is the last moment before the page can react to it.
  watch.begin = () => {
    if (watch.started) return;
    watch.started = true;
    if (!watch.pending.length) return;
    const { key, sample } = snap();
    watch.last = key;
    watch.pending = [];
    watch.rebased = sample;
  };
  const first = snap();
  watch.last = first.key;
  watch.first = first.sample;
  return watch;
};

/** The page as it is, for these questions, once. */
act.look = (spec) => cb.once(() => ({ t: 0, url: cb.cut(location.href, 2000), title: cb.cut(titleOf(document), 500), targets: sampleTargets(spec) }));
/** Begins to watch and opens the gesture; answers with the page as it is just before the input. */
act.arm = ({ watch, gesture: spec, by, ms }) => {
  deadline = by ?? performance.now() + ms;
  if (watch) {
    watching?.stop();
    watching = startWatch(watch);
  }
  const opened = openGesture(spec);
  return { opened, sample: watch ? watching.first : null };
};
const drain = () => ({ samples: watching ? watching.pending.splice(0) : [], before: watching?.rebased ?? null, effect: !!watching?.hasEffect() });
/** Settles with the samples since the last call as soon as there is one, or after `budget` milliseconds. */
act.changes = async (budget) => {
  const watch = watching;
  if (!watch) return { samples: [], before: null, effect: false, idle: true };
  const news = () => watch.pending.length > 0 || (!watch.told && watch.hasEffect());
  if (!news()) {
    await new Promise((resolve) => {
      watch.waiters.push(resolve);
      setTimeout(resolve, budget);
    });
  }
  if (watching === watch && !watch.pending.length) watch.take();
  const drained = drain();
  watch.told ||= drained.effect;
  return drained;
};
/** Ends all that is armed here and tells what was seen. */
act.disarm = () => {
  const report = act.shut();
  const watch = watching;
  if (!watch) return { report, samples: [], before: null, effect: false, summary: null };
  watch.take();
  const drained = drain();
  const now = activeElement();
  const summary = {
    added: watch.added, removed: watch.removed, attributes: watch.attributes, texts: watch.texts, notable: watch.notable,
    scrolled: watch.scrolled, targetChanged: watch.main !== null && stateOf(watch.main) !== watch.state,
    focus: now !== watch.focus && now ? describe(now) : null, url: cb.cut(location.href, 2000), urlBefore: cb.cut(watch.url, 2000),
  };
  watch.stop();
  watching = null;
  return { report, ...drained, summary };
};
