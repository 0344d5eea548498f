// What changed in a document beside the watched targets, in few words.
const POPUPS = "dialog, [role=dialog], [role=alertdialog], [role=alert], [role=status], [role=menu], [role=listbox], [role=tooltip], [popover]";
const NOTABLE = `${POPUPS}, [role=row], tr, button, a[href], input, select, textarea, summary, ${INTERACTIVE}`;
/** Attributes that are states, and the states that they are. */
const STATE_OF = new Map([
  ...["expanded", "selected", "checked", "pressed", "disabled", "invalid", "current", "busy"].map((state) => [`aria-${state}`, state]),
  ...["disabled", "readonly", "required", "open"].map((state) => [state, state]),
]);
const MAX_WORDS = 10;
const MAX_STATES = 50;
const ANY_CHANGE = { subtree: true, childList: true, attributes: true, characterData: true };

/** Nodes that keep changing while no step is under way, and how often they did. */
let restless = new WeakMap();
const RESTLESS = 3;
const isRestless = (node) => (restless.get(node)?.count ?? 0) >= RESTLESS;
const fidgets = (node, now) => {
  const seen = restless.get(node);
  if (!seen) restless.set(node, { count: 1, last: now });
  else if (now - seen.last > 10) { seen.count++; seen.last = now; }
};
/**
 * What of a document is looked for once and kept up from then on: its shadow roots (the core's list, to which the walk
 * adds those that it meets) and what may pop up. `null`: to be looked for.
 */
let popups = null;
const noteRoots = (found, visit) => {
  const root = cb.shadowOf(found);
  if (!root) return;
  cb.noteRoot(root);
  visit?.(root);
  for (const inner of queryWithin(root, "*")) noteRoots(inner, visit);
};
/** Keeps up with one change; `visit` is told of the shadow roots that came with it. Answers with how many elements it looked at. */
const keepUp = (record, visit) => {
  if (record.type === "attributes") {
    if ((record.attributeName === "role" || record.attributeName === "popover") && matches(record.target, POPUPS)) popups?.add(record.target);
    return 1;
  }
  let looked = 1;
  for (const node of record.addedNodes) {
    if (nodeType(node) !== 1) continue;
    const within = queryWithin(node, "*");
    looked += within.length;
    noteRoots(node, visit);
    for (const inner of within) noteRoots(inner, visit);
    if (popups) {
      if (matches(node, POPUPS)) popups.add(node);
      for (const inner of queryWithin(node, POPUPS)) popups.add(inner);
    }
  }
  return looked;
};
const surveyed = () => {
  if (!popups) {
    cb.everyElement((found) => { const root = cb.shadowOf(found); if (root) cb.noteRoot(root); });
    popups = new Set(queryWithin(rootElement(document) ?? document, POPUPS));
  }
  for (const found of popups) if (!isConnected(found)) popups.delete(found);
  return popups;
};
let idle = null;
/** Elements that are looked at between two steps; a page that changes more than that is looked through anew. */
const IDLE_ELEMENTS = 50000;
let idleBudget = 0;
const lookedOn = (records) => {
  const now = performance.now();
  for (const record of records) {
    if (idleBudget <= 0) { popups = null; return; }
    const whole = record.target === bodyOf(document) || record.target === rootElement(document);
    if (!whole) fidgets(record.target, now);
    idleBudget -= keepUp(record, (root) => idle.observe(root, ANY_CHANGE));
  }
};
/** Looks on between two steps, for a while: what changes by itself there is no effect of the next one. */
const lookOn = () => {
  idle?.disconnect();
  restless = new WeakMap();
  idleBudget = IDLE_ELEMENTS;
  const observer = idle = new MutationObserver((records) => {
    lookedOn(records);
    if (!popups) observer.disconnect();
  });
  idle.observe(document, ANY_CHANGE);
  for (const root of cb.notedRoots()) idle.observe(root, ANY_CHANGE);
};

/** Keeps account of what mutations mean, from now on. */
const startSummary = () => {
  if (idle) {
    lookedOn(idle.takeRecords());
    idle.disconnect();
  }
  const summary = { added: 0, removed: 0, attributes: 0, texts: 0, background: 0, notable: [], errors: [], states: new Map() };
  const shown = [];
  for (const found of surveyed()) {
    if (shown.length >= 50) break;
    if (matches(found, POPUPS)) shown.push([found, cb.isVisible(found)]);
  }
  const titled = (found, name) => {
    const role = cb.roleOf(found);
    return cb.cut(`${role === "generic" || !role ? describe(found) : role}${name ? ` ${JSON.stringify(cb.cut(name, 80))}` : ""}`, 190);
  };
  const say = (text) => {
    if (summary.notable.length < MAX_WORDS && !summary.notable.includes(text)) summary.notable.push(text);
  };
  const of = (sign, found) => say(sign + titled(found, isConnected(found) ? cb.nameOf(found) : attr(found, "aria-label")));
  const note = (sign, node) => {
    if (summary.notable.length >= MAX_WORDS || !isElement(node)) return;
    if (matches(node, NOTABLE)) of(sign, node);
    let budget = 5;
    for (const inner of queryWithin(node, NOTABLE)) {
      if (budget-- <= 0) break;
      of(sign, inner);
    }
  };
  const was = (found, state, value) => {
    let states = summary.states.get(found);
    if (!states) {
      if (summary.states.size >= MAX_STATES) return;
      summary.states.set(found, states = new Map());
    }
    if (!states.has(state)) states.set(state, value);
  };
  const isNotable = (node) => isElement(node) && (matches(node, NOTABLE) || queryWithin(node, NOTABLE).length > 0);
  summary.take = (record, visit) => {
    keepUp(record, visit);
    const nodes = record.type === "childList" ? [...record.addedNodes, ...record.removedNodes] : [];
    if (isRestless(record.target) && !nodes.some(isNotable)) { summary.background++; return; }
    if (record.type === "attributes") {
      summary.attributes++;
      const state = STATE_OF.get(record.attributeName);
      if (state) was(record.target, record.attributeName, record.oldValue);
    } else if (record.type === "characterData") summary.texts++;
    else {
      for (const node of record.addedNodes) {
        if (nodeType(node) !== 1) { summary.texts++; continue; }
        summary.added++;
        note("+", node);
      }
      for (const node of record.removedNodes) {
        if (nodeType(node) !== 1) { summary.texts++; continue; }
        summary.removed++;
        note("-", node);
      }
    }
  };
  /** A person's or a script's change of a check box has no attribute. */
  summary.toggled = (found) => {
    if (found instanceof HTMLInputElement && ["checkbox", "radio"].includes(inputType(found))) was(found, "checked", String(!cb.statesOf(found).checked || cb.statesOf(found).checked === "false"));
  };
  summary.count = () => summary.added + summary.removed + summary.attributes + summary.texts;
  const inWords = (value, name) => (name.startsWith("aria-") || name === "checked" ? value ?? "none" : String(value !== null));
  summary.tell = () => {
    for (const [found, before] of shown) {
      if (!isConnected(found)) continue;
      const now = cb.isVisible(found);
      if (now !== before) of(now ? "+" : "-", found);
    }
    const states = [];
    for (const [found, changes] of summary.states) {
      for (const [name, old] of changes) {
        if (states.length >= MAX_WORDS || !isConnected(found)) continue;
        const now = name === "checked" ? String(cb.statesOf(found).checked ?? "") : attr(found, name);
        if (now === old) continue;
        states.push(cb.cut(`${titled(found, cb.nameOf(found))}: ${STATE_OF.get(name) ?? name} ${inWords(old, name)} → ${inWords(now, name)}`, 300));
      }
    }
    const { added, removed, attributes, texts, background, notable, errors } = summary;
    return { added, removed, attributes, texts, background, notable, errors, states };
  };
  return summary;
};
