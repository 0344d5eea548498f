// @ts-check
// What changes while a step is under way: facts of the watched targets, and a summary of all else.
import * as cb from "cuebook:core";
import { act, bodyOf, isConnected, matches, tagOf, titleOf } from "./reads.js";
import { activeElement, describe, element, frame, originOf, reaches } from "./common.js";
import {
  arrival, awaitInput, endsAt, forgetMeanings, gesture, guard, openGesture, reportGesture, soon,
} from "./gesture.js";
import { ANY_CHANGE, DONE, lookOn, PRESSED, startSummary } from "./summary.js";
import { findAbout, mean } from "./meant.js";

const MAX_SAMPLES = 300;
/** Milliseconds after which a page that draws nothing, such as one in the background, has answered. */
const UNDRAWN = 100;
/** Milliseconds that questions may take in a row. */
const CREDIT = 100;
export let watching = null;

/** For each row, which of the others it lies within. */
const outersOf = (rows, outers, itself) => {
  const position = new Map(outers.map((outer, index) => [outer, index]));
  return rows.map((row) => {
    const found = new Set();
    for (const next of [cb.composedParentOf, cb.parentOf]) {
      for (let up = itself ? row : next(row); up; up = next(up)) if (position.has(up)) found.add(position.get(up));
    }
    return [...found];
  });
};
/**
 * What a locator may mean here, and how that stands to what its inner locators may mean. Which of it is meant is
 * decided elsewhere, over all frames.
 */
export const follow = (filter, ask) => {
  const { rows, skipped } = cb.locate(filter, ask);
  // Beyond a handful only their number matters; a locator by text compares the texts of all.
  const reported = { rows: rows.map(({ facts, parent }) => ({ facts, parent })), skipped };
  const elements = rows.map(({ id }) => cb.byId(id));
  for (const [name, inner] of Object.entries(filter.inner ?? {})) {
    if (inner.relative) {
      reported[name] = followRelative(elements, inner);
      continue;
    }
    const other = follow(inner, { testIds: ask.testIds, text: inner.readsText });
    let of;
    if (name === "within") of = outersOf(elements, other.elements, filter.by === "text");
    else {
      of = elements.map(() => []);
      outersOf(other.elements, elements, inner.by === "text" || inner.by === "xpath").forEach((outers, index) => {
        for (const outer of outers) of[outer].push(index);
      });
    }
    reported[name] = { target: other.reported, of };
  }
  return { reported, elements };
};
/** The same for an inner locator that starts from each of these elements. */
const followRelative = (elements, inner) => {
  const found = elements.map((one) => cb.relativeTo(one, inner));
  const all = [...new Set(found.flat())];
  const rows = all.map((one) => ({ facts: { ...cb.factsOf(one, {}), relations: { selector: true } } }));
  return { target: { rows, skipped: 0 }, of: found.map((of) => of.map((one) => all.indexOf(one))) };
};
/** Milliseconds between two looks for what a page draws again. */
const SEARCH = 100;
/** What a page put in the place of an element that was acted on, if it is about the same. */
const drawnAgain = (question) => {
  const { id: former, about, twin, lookedAt = -SEARCH } = question;
  if (twin) return element(twin);
  if (!about || performance.now() - lookedAt < SEARCH) return null;
  const { role } = about;
  question.lookedAt = performance.now();
  question.twin = findAbout(former, role, about);
  return question.twin ? element(question.twin) : null;
};
/** @param {any} facts */
const keyOfHeld = ({ role, name, tag, value, selectedValues, states }) =>
  JSON.stringify([role, name, tag, value, selectedValues, { ...states, focused: undefined }]);
/** The only element that a locator finds in place of what is gone, if that is called and holds what it held last. */
const drawnLike = ({ filter, ask, held }) => {
  if (!filter || held === undefined) return null;
  try {
    const { elements } = follow(filter, ask);
    const facts = elements.length === 1 ? cb.factsOf(elements[0], ask) : null;
    return facts && keyOfHeld(facts) === held ? facts : null;
  } catch {
    return null;
  }
};
const sampleTargets = (watch) => {
  const targets = {};
  for (const question of watch.targets) {
    const { ref, id, filter, ask } = question;
    if (id !== undefined) {
      const found = element(id) ?? drawnAgain(question);
      const facts = found ? cb.factsOf(found, ask) : drawnLike(question);
      if (found) question.held = keyOfHeld(facts);
      targets[ref] = { rows: facts ? [{ facts }] : [] };
    } else if (filter) {
      try {
        targets[ref] = follow(filter, ask).reported;
      } catch (error) {
        targets[ref] = null;
      }
    }
  }
  return targets;
};
const keyOf = (watch, targets) =>
  JSON.stringify(
    targets,
    watch.geometry ? undefined : (key, value) => (key === "box" || key === "inViewport" ? undefined : value),
  );
const stateOf = (found) => {
  if (!found || !isConnected(found)) return null;
  // A momentary state is reported by its attributes, once it has lasted.
  const { focused, disabled, pressed, editable, ...states } = cb.statesOf(found);
  return JSON.stringify([
    states,
    cb.valueOf(found) ?? null,
    tagOf(found) === "select" ? cb.optionsOf(found, 100) : null,
  ]);
};

const startWatch = (spec) => {
  const origin = performance.now();
  const watch = {
    targets: spec.targets,
    geometry: spec.geometry,
    pending: [],
    waiters: [],
    last: null,
    cost: 0,
    credit: CREDIT,
    credited: origin,
    ended: 0,
    timer: 0,
    started: false,
    summary: startSummary(spec.main ? element(spec.main) : null, spec.hovers),
    scrolled: false,
    reported: false,
    hit: null,
    scroll: [globalThis.scrollX, globalThis.scrollY],
    focus: activeElement(),
    main: spec.main ? element(spec.main) : null,
    /** What the step is about: its target, else what has the focus, such as the field that keys go to. */
    held: spec.main ? element(spec.main) : activeElement(),
    /** The page is known to have answered, though no node changed. */
    isAnswered: false,
    state: null,
    url: location.href,
    title: titleOf(document),
  };
  watch.state = stateOf(watch.held);
  const snap = () => {
    const begun = performance.now();
    const targets = cb.once(() => sampleTargets(watch));
    const key = keyOf(watch, targets) + location.href + "\u0000" + titleOf(document);
    watch.ended = performance.now();
    watch.cost = watch.ended - begun;
    watch.credit -= watch.cost;
    return {
      key,
      sample: {
        t: Math.max(0, begun - origin),
        url: cb.cut(location.href, 2000),
        title: cb.cut(titleOf(document), 500),
        targets,
      },
    };
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
  const hasScrolled = () =>
    watch.scrolled || globalThis.scrollX !== watch.scroll[0] || globalThis.scrollY !== watch.scroll[1];
  watch.hasScrolled = hasScrolled;
  // The browser itself gives the focus to what is pressed, and to a field that it finds invalid.
  const isGiven = (now) =>
    watch.summary.invalid.has(now) ||
    [watch.main, watch.hit].some((own) => own && (reaches(own, now) || cb.contains(now, own)));
  watch.focused = () => {
    const now = activeElement();
    // The document of a frame reports its focus itself.
    if (!now || now === watch.focus || now === bodyOf(document) || matches(now, "iframe, frame")) return null;
    return { now, isGiven: isGiven(now) };
  };
  watch.hasEffect = () => {
    const focused = watch.focused();
    const moved = hasScrolled() && !watch.summary.invalid.size;
    return (
      watch.summary.hasEffect() ||
      moved ||
      (focused !== null && !focused.isGiven) ||
      watch.isAnswered ||
      stateOf(watch.held) !== watch.state ||
      location.href !== watch.url ||
      titleOf(document) !== watch.title
    );
  };
  const changed = () => {
    // A costly question is not asked more than half of the time; what comes and goes at once is seen all the
    // same, as long as the page has not been asked much of late.
    const now = performance.now();
    watch.credit = Math.min(CREDIT, watch.credit + (now - watch.credited) / 2);
    watch.credited = now;
    const rest = watch.cost > 4 && watch.credit <= 0 ? watch.cost - (now - watch.ended) : 0;
    if (rest <= 0) take();
    else if (!watch.timer)
      watch.timer = setTimeout(() => {
        watch.timer = 0;
        if (watching === watch) take();
      }, rest);
    if (!watch.reported && watch.hasEffect()) wake();
  };
  watch.noteAnswer = () => {
    watch.isAnswered = true;
    changed();
  };
  const observe = (root) =>
    observer.observe(root, { ...ANY_CHANGE, attributeOldValue: true, characterDataOldValue: true });
  const account = (records) => {
    for (const record of records) watch.summary.take(record, observe);
  };
  const observer = new MutationObserver((records) => {
    if (watching !== watch) return;
    account(records);
    changed();
  });
  observe(document);
  for (const root of cb.notedRoots()) observe(root);
  const onEvent = () => {
    if (watching === watch) changed();
  };
  // A look takes as long as a key: one for each frame, while keys come.
  let isDrawing = false;
  const onInput = () => {
    if (gesture?.kind !== "keys") return onEvent();
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      onEvent();
    });
  };
  const onChange = (event) => {
    watch.summary.toggled(originOf(event));
  };
  const onInvalid = (event) => {
    if (watch.summary.invalid.size < 20) watch.summary.invalid.add(originOf(event));
  };
  const onScroll = () => {
    watch.scrolled = true;
    onEvent();
  };
  const events = "change focusin focusout toggle hashchange popstate transitionend animationend".split(" ");
  for (const type of events) globalThis.addEventListener(type, onEvent, true);
  globalThis.addEventListener("input", onInput, true);
  globalThis.addEventListener("scroll", onScroll, true);
  globalThis.addEventListener("change", onChange, true);
  globalThis.addEventListener("invalid", onInvalid, true);
  // Properties that script sets, and style changes, cause no event.
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
    globalThis.removeEventListener("input", onInput, true);
    globalThis.removeEventListener("scroll", onScroll, true);
    globalThis.removeEventListener("change", onChange, true);
    globalThis.removeEventListener("invalid", onInvalid, true);
    wake();
  };
  /** Whether the page did more than to draw again what holds the target. */
  watch.hasEffectElsewhere = () => {
    account(observer.takeRecords());
    return watch.summary.isElsewhere();
  };
  watch.take = () => {
    account(observer.takeRecords());
    take();
  };
  // The first event of the gesture is the last moment before the page can react to it. What the page did until a
  // later one is weighed before that one reaches it.
  watch.begin = (event) => {
    if (event && !guard.passing.has(event.type)) {
      account(observer.takeRecords());
      const decides = gesture?.expects?.type ?? [];
      watch.summary.goesOn(!decides.length || decides.includes(event.type) ? DONE : PRESSED);
    }
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
act.look = (spec) =>
  cb.once(() => ({
    t: 0,
    url: cb.cut(location.href, 2000),
    title: cb.cut(titleOf(document), 500),
    targets: sampleTargets(spec),
  }));
/**
 * Begins to watch and opens the gesture; returns the page as it is just before the input. `shut`: input for
 * another document may still come.
 */
act.arm = ({ watch, gesture: spec, by, ms, shut, meant: wanted }) => {
  endsAt(by ?? performance.now() + ms);
  if (watch) {
    watching?.stop();
    watching = startWatch(watch);
    forgetMeanings();
  } else if (watching && wanted?.length) {
    // What the page drew in place of the element that was acted on first is acted on now.
    const [{ id: acted }] = wanted;
    for (const question of watching.targets) {
      const { id, filter } = question;
      if (filter && id !== undefined && !element(id)) Object.assign(question, { id: acted });
    }
  }
  const meaning = mean(wanted ?? []);
  const opened = openGesture(spec);
  if (shut) awaitInput();
  if (spec) watching?.summary.acts();
  if (opened && watching && gesture?.target) {
    watching.hit = gesture.target;
    const decides = gesture.kind === "keys" || !!gesture.expects?.type.length;
    if (decides) watching.summary.comes(gesture.kind, gesture.ends);
  }
  return { opened, sample: watch ? watching.first : null, meaning };
};
const drain = () => ({
  samples: watching ? watching.pending.splice(0) : [],
  before: watching?.rebased ?? null,
  effect: !!watching?.hasEffect(),
});
/** Settles with the samples since the last call as soon as there is one, or after `budget` milliseconds. */
act.changes = async (budget) => {
  const watch = watching;
  if (!watch) return { samples: [], before: null, effect: false, idle: true };
  const news = () => watch.pending.length > 0 || (!watch.reported && watch.hasEffect());
  if (!news()) {
    await new Promise((resolve) => {
      watch.waiters.push(resolve);
      setTimeout(resolve, budget);
    });
  }
  if (watching === watch && !watch.pending.length) watch.take();
  const drained = drain();
  watch.reported ||= drained.effect;
  return drained;
};
/** The same, once the page has drawn what it makes of the input; where nothing is drawn, a little later. */
act.answered = async () => {
  const drawn = frame().then(nextTask);
  await Promise.race([drawn, new Promise((resolve) => setTimeout(resolve, UNDRAWN))]);
  return act.changes(0);
};
/** What else changed since watching began, as it is now. */
const summaryOf = (watch) => {
  const focused = watch.focused();
  return {
    ...watch.summary.tell(),
    scrolled: watch.hasScrolled(),
    targetChanged: watch.main !== null && stateOf(watch.main) !== watch.state,
    focus: focused && !focused.isGiven ? describe(focused.now) : null,
    targetFocused: !!focused?.isGiven,
    effect: watch.hasEffect(),
    url: cb.cut(location.href, 2000),
    urlBefore: cb.cut(watch.url, 2000),
  };
};
/** Settles in another task: once the listeners of the last event have run, or what is drawn has been laid out. */
const nextTask = () => new Promise(soon);
/**
 * Settles when the last listener of an `input` event, which is this one, has run; not at all if the page stops it on
 * its way.
 */
const inputHeard = () => {
  /** @type {(event: Event) => void} */
  let heard;
  const promise = new Promise((resolve) => {
    heard = resolve;
    globalThis.addEventListener("input", heard);
  });
  return { promise, end: () => globalThis.removeEventListener("input", heard) };
};
let outcomes = 0;
/**
 * Settles when the gesture has arrived or was blocked and the page's listeners have run, or after `budget`
 * milliseconds: the report so far, without ending anything.
 */
act.outcome = async (budget) => {
  const heard = inputHeard();
  const nth = ++outcomes;
  await arrival(budget);
  await Promise.race([heard.promise, nextTask()]);
  heard.end();
  const report = reportGesture();
  const watch = nth === outcomes ? watching : null;
  if (!watch) return { report, samples: [], before: null, effect: false, summary: null };
  watch.take();
  const drained = drain();
  watch.reported ||= drained.effect;
  return { report, ...drained, summary: summaryOf(watch) };
};
/** The report so far, where nobody waits for the outcome any longer: what went with that is told again. */
act.withoutOutcome = () => {
  outcomes++;
  if (watching) Object.assign(watching, { last: null, reported: false });
  return reportGesture();
};
/** Ends all that is armed here and returns what was seen. */
act.disarm = () => {
  const report = reportGesture();
  const watch = watching;
  if (!watch) return { report, samples: [], before: null, effect: false, summary: null };
  watch.take();
  const drained = drain();
  const summary = summaryOf(watch);
  watch.stop();
  watching = null;
  lookOn();
  return { report, ...drained, summary };
};
