// @ts-check
// What changed in a document beside the watched targets, in few words.
import * as cb from "cuebook:core";
import {
  act, attr, bodyOf, getter, inputType, isConnected, isElement, matches, nodeType, queryWithin, rootElement,
} from "./reads.js";
import { describe, INTERACTIVE } from "./common.js";

const ALERTS = "[role=alert], [role=alertdialog], [aria-live=assertive i]";
const LIVE = `${ALERTS}, [role=status], output, [aria-live=polite i]`;
const POPUPS = `dialog, [role=dialog], [role=menu], [role=listbox], [role=tooltip], [popover], ${LIVE}`;
const NOTABLE = `${POPUPS}, [role=row], tr, button, a[href], input, select, textarea, summary, ${INTERACTIVE}`;
/** Attributes that are states, and the states that they are. */
const STATE_OF = new Map();
for (const state of ["expanded", "selected", "checked", "pressed", "disabled", "invalid", "current", "busy"])
  STATE_OF.set(`aria-${state}`, state);
for (const state of ["disabled", "readonly", "required", "open"]) STATE_OF.set(state, state);
/**
 * What only draws an element: it follows the pointer, the press and the focus, whatever the page makes of the
 * gesture.
 */
const isLook = (name) => name === "class" || name === "style" || name.startsWith("data-");
const MAX_LOOKS = 500;
const wholeText = getter(Node.prototype, "textContent");
/** Stands for the text of a node among its attributes. */
const TEXT = "#text";
/** States that pages set for a moment while they work, or while a control is held: they count once they have lasted. */
const isBrief = (name) => isLook(name) || ["aria-busy", "aria-pressed", "aria-disabled", "disabled"].includes(name);
const BRIEF = 350;
/** A value as it is compared: what is empty or off counts as absent; the browser spells a style its own way. */
const spelt = (name, value) => {
  if (name === "style") return (value ?? "").replace(/\s*([:;,])\s*/g, "$1").replace(/;$/, "");
  if (name === "class") return cb.collapse(value ?? "");
  return name.startsWith("aria-") ? (value ?? "false") : value;
};
/** How far a gesture got: the pointer comes; it is pressed; the event came that makes it the gesture that it is. */
const COMING = 0;
export const PRESSED = 1;
export const DONE = 2;
/** Words of errors, for live regions that report other things too; the class is a hint in any language. */
const ERROR_CLASS = /(?:^|[-_ ])(?:error|danger|invalid|fail|failed|failure)(?:$|[-_ ])/i;
const SUCCESS_CLASS = /(?:^|[-_ ])(?:success|info|ok)(?:$|[-_ ])/i;
const SUCCESS_WORDS = /\b(?:success(?:ful(?:ly)?)?|saved|added|updated|created|sent|copied|removed|deleted|thanks?)\b/i;
const ERROR_PHRASES = [
  "error|failed|failure|invalid|incorrect|wrong|denied|forbidden|unauthori[sz]ed|expired|unable to",
  "could not|couldn['’]t|cannot|can['’]t|not found|went wrong|try again",
];
const ERROR_WORDS = new RegExp(`\\b(?:${ERROR_PHRASES.join("|")})\\b`, "i");
const validityOf = (found) => {
  const prototype = [HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement].find(
    (kind) => found instanceof kind,
  )?.prototype;
  return prototype && !getter(ValidityState.prototype, "valid")(getter(prototype, "validity")(found))
    ? getter(prototype, "validationMessage")(found)
    : null;
};
/** The texts of this document's live regions that are new. */
const alertsOf = (regions, before) => {
  const reported = [];
  for (const found of regions) {
    if (reported.length >= MAX_WORDS || !matches(found, LIVE) || !isConnected(found) || !cb.isVisible(found)) continue;
    const text = cb.cut(cb.collapse(cb.textOf(found)), 200);
    if (!text || before.get(found) === text || reported.some((other) => other.includes(JSON.stringify(text)))) continue;
    const inner = [found, ...queryWithin(found, "[class]")].slice(0, 5);
    const isCalled = (kind) => inner.some((part) => kind.test(attr(part, "class") ?? ""));
    const isBad = ERROR_WORDS.test(text) || isCalled(ERROR_CLASS);
    const isGood = SUCCESS_WORDS.test(text) || isCalled(SUCCESS_CLASS);
    const isError = isBad || (matches(found, ALERTS) && !isGood);
    if (isError) reported.push(`the page says ${JSON.stringify(text)}`);
  }
  return reported;
};
/** The errors in a document that the step led to. */
act.alerts = () => alertsOf(surveyed(), new Map());
const MEDIA = "img, svg, canvas, video, audio, iframe, object, embed, input";
const MAX_WORDS = 10;
const MAX_STATES = 50;
export const ANY_CHANGE = { subtree: true, childList: true, attributes: true, characterData: true };

/** Nodes that keep changing while nothing is done to the page, how often they did, and since which gesture. */
const restless = new WeakMap();
const RESTLESS = 3;
let gestures = 0;
/** Whether a node changed several times by itself, and has not been still for much longer than between two of them. */
const isRestless = (node, now) => {
  const seen = restless.get(node);
  if (!seen || seen.count < RESTLESS) return false;
  return now - seen.last < 1000 + (2 * (seen.last - seen.first)) / (seen.count - 1);
};
const fidgets = (node, now) => {
  const seen = restless.get(node);
  // A gesture may have changed it, late; what is restless already stays so.
  if (!seen || (seen.gestures !== gestures && !isRestless(node, now)))
    restless.set(node, { count: 1, first: now, last: now, gestures });
  else if (now - seen.last > 10) {
    seen.count++;
    seen.last = now;
  }
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
/**
 * Keeps up with one change; `visit` gets the shadow roots that came with it. Returns how many elements it
 * looked at.
 */
const keepUp = (record, visit) => {
  if (record.type === "attributes") {
    if (["role", "popover", "aria-live"].includes(record.attributeName) && matches(record.target, POPUPS))
      popups?.add(record.target);
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
export const surveyed = () => {
  if (!popups) {
    cb.everyElement((found) => {
      const root = cb.shadowOf(found);
      if (root) cb.noteRoot(root);
    });
    const root = rootElement(document);
    popups = new Set(root ? queryWithin(root, POPUPS) : []);
  }
  for (const found of popups) if (!isConnected(found)) popups.delete(found);
  return popups;
};
let idle = null;
/** Elements that are looked at between two steps; a page that changes more than that is searched as a whole. */
const IDLE_ELEMENTS = 50000;
let idleBudget = 0;
const lookedOn = (records) => {
  const now = performance.now();
  for (const record of records) {
    if (idleBudget <= 0) {
      popups = null;
      return;
    }
    const whole = record.target === bodyOf(document) || record.target === rootElement(document);
    if (!whole) fidgets(record.target, now);
    idleBudget -= keepUp(record, (root) => idle.observe(root, ANY_CHANGE));
  }
};
/** Looks on between two steps, for a while: what changes by itself there is no effect of the next one. */
export const lookOn = () => {
  idle?.disconnect();
  idleBudget = IDLE_ELEMENTS;
  const observer = (idle = new MutationObserver((records) => {
    lookedOn(records);
    if (!popups) observer.disconnect();
  }));
  idle.observe(document, ANY_CHANGE);
  for (const root of cb.notedRoots()) idle.observe(root, ANY_CHANGE);
};

/** Whether a text is another one now, and no element came or went. A first text is none: pages fill in as they load. */
const isRetold = ({ type, addedNodes, removedNodes }) => {
  if (type !== "childList") return type === "characterData";
  // A page that loads adds elements, thousands of them: the first node decides for most.
  for (const nodes of [addedNodes, removedNodes]) for (const node of nodes) if (nodeType(node) !== 3) return false;
  return removedNodes.length > 0;
};
/** Before the first step: texts that keep changing, such as a clock. */
const noteTexts = (records) => {
  const now = performance.now();
  for (const record of records) if (isRetold(record)) fidgets(record.target, now);
};
let first = new MutationObserver(noteTexts);
first.observe(document, { subtree: true, childList: true, characterData: true });
/**
 * Keeps account of what mutations mean, from now on. `main`: what the step acts on; `hovers`: all that it does is to
 * come with the pointer.
 */
export const startSummary = (main, hovers) => {
  if (first) {
    noteTexts(first.takeRecords());
    first.disconnect();
    first = null;
  }
  if (idle) {
    lookedOn(idle.takeRecords());
    idle.disconnect();
  }
  const summary = {
    added: 0,
    removed: 0,
    attributes: 0,
    texts: 0,
    background: 0,
    notable: [],
    states: new Map(),
    invalid: new Set(),
  };
  const shown = [];
  const said = new Map();
  for (const found of surveyed()) {
    if (shown.length >= 50) break;
    if (matches(found, POPUPS)) shown.push([found, cb.isVisible(found)]);
    if (matches(found, LIVE)) said.set(found, cb.cut(cb.collapse(cb.textOf(found)), 200));
  }
  let phase = DONE;
  let counted = false;
  // Opening a page, or waiting, does nothing to it.
  let acts = false;
  /** From now on what changes may come from the step. */
  summary.acts = () => {
    acts = true;
    gestures++;
  };
  if (main) summary.acts();
  const looks = new Map();
  /** What came with the pointer or the press to be looked at, such as a ripple: it goes as it came. */
  const passing = new WeakSet();
  const isPassing = (node) => {
    for (let up = node, depth = 0; up && depth < 10; up = cb.composedParentOf(up), depth++)
      if (passing.has(up)) return true;
    return false;
  };
  const isIn = (node) => !!main && isElement(node) && cb.contains(main, node);
  const isTooltip = (node) =>
    isElement(node) && (matches(node, "[role=tooltip]") || queryWithin(node, "[role=tooltip]").length > 0);
  const lookAt = ({ target, attributeName, oldValue }) => {
    if (hovers && isIn(target)) return;
    let seen = looks.get(target);
    if (!seen) {
      if (looks.size >= MAX_LOOKS) {
        counted ||= phase === DONE;
        return;
      }
      looks.set(target, (seen = new Map()));
    }
    if (!seen.has(attributeName)) seen.set(attributeName, [spelt(attributeName, oldValue)]);
  };
  const LABELS = new Set(["aria-label", "aria-labelledby", "title", "href"]);
  /** What a control calls itself while it is pressed is no effect: nothing has been done yet. */
  const isOwnLabel = ({ type, target, attributeName, addedNodes, removedNodes }) => {
    if (phase !== PRESSED || !main) return false;
    if (type === "attributes") return target === main && LABELS.has(attributeName);
    const isText = (node) => nodeType(node) === 3;
    const isWords = type === "characterData" || [...addedNodes, ...removedNodes].every(isText);
    return isWords && cb.contains(main, type === "characterData" ? cb.parentNode(target) : target);
  };
  /** What attributes and texts said before the step changed them: what says the same again has not changed. */
  const firsts = new Map();
  const keepFirst = (node, name, value) => {
    let known = firsts.get(node);
    if (!known) {
      if (firsts.size >= MAX_LOOKS) {
        counted = true;
        return;
      }
      firsts.set(node, (known = new Map()));
    }
    if (!known.has(name)) known.set(name, value);
    if (isOther(node, name, known.get(name)) && changedIn.size < 50) changedIn.add(node);
  };
  const isOther = (node, name, value) => (name === TEXT ? wholeText(node) : attr(node, name)) !== value;
  const isChanged = () =>
    [...firsts].some(([node, known]) => [...known].some(([name, value]) => isOther(node, name, value)));
  /** The text that a record put another in the place of, if that was all that the node holds. */
  const replacedText = ({ addedNodes, removedNodes, previousSibling, nextSibling }) => {
    const isText = (node) => nodeType(node) === 3;
    if (previousSibling || nextSibling || ![...addedNodes, ...removedNodes].every(isText)) return null;
    return [...removedNodes].map(wholeText).join("");
  };
  let lostFrom = null;
  const changedIn = new Set();
  summary.isElsewhere = () => [...changedIn].some((found) => found !== lostFrom);
  /**
   * Whether a change is one that the page made of the gesture, and none that comes and goes with pointer, press and
   * focus.
   */
  const weigh = (record) => {
    if (record.type === "attributes") {
      if (isPassing(record.target) || (drags && record.attributeName === "draggable")) return;
      if (isBrief(record.attributeName)) lookAt(record);
      else if (isOwnLabel(record)) return;
      else if (phase !== COMING) keepFirst(record.target, record.attributeName, record.oldValue);
      return;
    }
    if (isOwnLabel(record)) return;
    if (phase !== COMING && record.type === "characterData") keepFirst(record.target, TEXT, record.oldValue);
    if (record.type === "characterData" || isPassing(record.target)) return;
    const replaced = replacedText(record);
    if (replaced !== null && phase !== COMING) return keepFirst(record.target, TEXT, replaced);
    const isPicture = (node) => matches(node, MEDIA) || queryWithin(node, MEDIA).length > 0;
    const isPlain = (node) => isElement(node) && !isNotable(node) && !cb.textOf(node).trim() && !isPicture(node);
    const isDrawnAside = (node) => ["absolute", "fixed"].includes(cb.styleOf(node).position);
    const isRipple = (node) => isPlain(node) && ((phase === PRESSED && isIn(record.target)) || isDrawnAside(node));
    for (const node of record.addedNodes) {
      if (phase === COMING || isRipple(node) || (!hovers && isTooltip(node))) passing.add(node);
      else counted = true;
    }
    for (const node of record.removedNodes) if (phase !== COMING && !passing.has(node)) counted = true;
  };
  const isElse = () => {
    for (const [found, seen] of looks)
      for (const [name, known] of seen) if (!known.includes(spelt(name, attr(found, name)))) return true;
    return false;
  };
  /** What changed once or twice by itself, and then in the step: an effect unless it soon changes again. */
  const doubted = new Map();
  const isDoubtful = (node, now) => {
    const seen = restless.get(node);
    if (!seen || seen.count >= RESTLESS) return false;
    const pause = seen.count > 1 ? 1.5 * (seen.last - seen.first) + 50 : 400;
    if (pause > 700 || now - seen.last > pause) return false;
    seen.count++;
    seen.last = now;
    doubted.set(node, { since: now, until: now + pause });
    if (changedIn.size < 50) changedIn.add(node);
    return true;
  };
  const hasStayed = () => {
    const now = performance.now();
    return [...doubted.values()].some(({ until }) => now > until);
  };
  let elseSince = Infinity;
  /** Whether something looks another way since the gesture, for as long as it takes to know that it stays. */
  const looksElse = () => {
    const now = performance.now();
    elseSince = isElse() ? Math.min(elseSince, now) : Infinity;
    return now - elseSince >= BRIEF;
  };
  /** A gesture begins. What happens until a pointer is pressed is no effect of it. */
  summary.comes = (kind, isDrag) => {
    phase = kind === "keys" || isDrag ? PRESSED : COMING;
    drags = isDrag;
  };
  // What a drag moves stays where it was moved to.
  let drags = false;
  summary.goesOn = (to) => {
    if (to <= phase) return;
    phase = to;
    if (phase === DONE && !drags)
      for (const [found, seen] of looks) for (const [name, known] of seen) known.push(spelt(name, attr(found, name)));
  };
  summary.hasEffect = () => (counted ||= (phase === DONE && looksElse()) || hasStayed()) || isChanged();
  const titled = (found, name) => {
    const role = cb.roleOf(found);
    return cb.cut(
      `${role === "generic" || !role ? describe(found) : role}${name ? ` ${JSON.stringify(cb.cut(name, 80))}` : ""}`,
      190,
    );
  };
  const say = (text) => {
    if (summary.notable.length < MAX_WORDS && !summary.notable.includes(text)) summary.notable.push(text);
  };
  const of = (sign, found) =>
    say(sign + titled(found, isConnected(found) ? cb.nameOf(found) : attr(found, "aria-label")));
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
      summary.states.set(found, (states = new Map()));
    }
    if (!states.has(state)) states.set(state, value);
  };
  const isNotable = (node) => isElement(node) && (matches(node, NOTABLE) || queryWithin(node, NOTABLE).length > 0);
  summary.take = (record, visit) => {
    keepUp(record, visit);
    const nodes = record.type === "childList" ? [...record.addedNodes, ...record.removedNodes] : [];
    const now = performance.now();
    const isBackground = isRestless(record.target, now) && !nodes.some(isNotable);
    if (isBackground || (!acts && isRetold(record))) fidgets(record.target, now);
    if (isBackground) {
      if (now > doubted.get(record.target)?.since + 10) doubted.delete(record.target);
      summary.background++;
      return;
    }
    if (acts && phase !== COMING && isRetold(record) && isDoubtful(record.target, now)) {
      summary.texts++;
      return;
    }
    const known = counted;
    counted = false;
    weigh(record);
    if (counted && changedIn.size < 50) changedIn.add(record.target);
    counted ||= known;
    const isLost = (node) => isElement(node) && cb.contains(node, main);
    if (main && [...record.removedNodes].some(isLost)) lostFrom = record.target;
    if (record.type === "attributes") {
      summary.attributes++;
      const state = STATE_OF.get(record.attributeName);
      if (state) was(record.target, record.attributeName, record.oldValue);
    } else if (record.type === "characterData") summary.texts++;
    else {
      for (const node of record.addedNodes) {
        if (nodeType(node) !== 1) {
          summary.texts++;
          continue;
        }
        summary.added++;
        note("+", node);
      }
      for (const node of record.removedNodes) {
        if (nodeType(node) !== 1) {
          summary.texts++;
          continue;
        }
        summary.removed++;
        note("-", node);
      }
    }
  };
  /** A person's or a script's change of a check box has no attribute. */
  summary.toggled = (found) => {
    if (!(found instanceof HTMLInputElement) || !["checkbox", "radio"].includes(inputType(found))) return;
    counted = true;
    was(found, "checked", String(!cb.statesOf(found).checked || cb.statesOf(found).checked === "false"));
  };
  const inWords = (value, name) =>
    name.startsWith("aria-") || name === "checked" ? (value ?? "none") : String(value !== null);
  summary.tell = () => {
    for (const [found, before] of shown) {
      if (!isConnected(found)) continue;
      const now = cb.isVisible(found);
      if (now === before) continue;
      of(now ? "+" : "-", found);
      if (phase !== COMING && (hovers || !isTooltip(found))) counted = true;
    }
    const problems = [];
    const put = (kind, message) => {
      if (problems.length < MAX_WORDS) problems.push({ kind, message: cb.cut(message, 300) });
    };
    for (const field of summary.invalid) {
      const message = isConnected(field) ? validityOf(field) : null;
      if (message !== null) put("validation", `${titled(field, cb.nameOf(field))}: ${message}`);
    }
    const states = [];
    for (const [found, changes] of summary.states) {
      for (const [name, old] of changes) {
        if (states.length >= MAX_WORDS || !isConnected(found)) continue;
        const now = name === "checked" ? String(cb.statesOf(found).checked ?? "") : attr(found, name);
        if (now === old) continue;
        if (name === "aria-invalid" && now && now !== "false" && !summary.invalid.has(found)) {
          put(
            "validation",
            `${titled(found, cb.nameOf(found))}: ${cb.errorMessageOf(found) || cb.descriptionOf(found) || "invalid"}`,
          );
        }
        const change = `${STATE_OF.get(name) ?? name} ${inWords(old, name)} → ${inWords(now, name)}`;
        states.push(cb.cut(`${titled(found, cb.nameOf(found))}: ${change}`, 300));
      }
    }
    // A control for choosing may tell its choice aloud.
    const told = main && (cb.isClosable(main) || cb.roleOf(cb.comboOf(main)) === "combobox") ? cb.comboOf(main) : null;
    const regions = [...surveyed()].filter((found) => !told || !cb.contains(told, found));
    for (const message of alertsOf(regions, said)) put("alert", message);
    const { added, removed, attributes, texts, background, notable } = summary;
    return { added, removed, attributes, texts, background, notable, states, problems };
  };
  return summary;
};
