// @ts-check
// What the guard lets through while a gesture of ours is under way.
import * as cb from "cuebook:core";
import {
  act, attr, blurOf, bodyOf, controlOf, dispatch, focusOf, getter, hasPointerCapture, isConnected, isElement,
  matches, method, queryWithin, rectOf, rootElement, tagOf,
} from "./reads.js";
import { boxOf, isThere } from "./boxes.js";
import {
  activeElement, blockerOf, closestInteractive, controlWithin, describe, draggableWithin, EDITABLE, element, fieldOf,
  hitAt, INTERACTIVE, isPartOfLabel, labelAround, originOf, pointedWithin, reaches, receives, receivesKeys, sameWords,
  takesClicks,
} from "./common.js";
import { surveyed } from "./summary.js";
import { watching } from "./watch.js";
import { beginLeaving, heldNow, lostSince } from "./held.js";
import {
  acceptItems, aroundOf, changedItems, changedMeaning, describeMeaning, itemsAround,
} from "./meant.js";

export const guard = Object.hasOwn(globalThis, "__cuebookGuard") ? globalThis.__cuebookGuard : null;
const KEYS = new Set(["keydown", "keypress", "keyup", "beforeinput"]);
export let gesture = null;
/** By when all that the step does here must have been done, on this document's clock. */
let deadline = Infinity;
export const endsAt = (moment) => {
  deadline = moment;
};
export const isLate = () => performance.now() > deadline;
/** The executor has armed something in this document, or looked at it. */
let isKnown = false;
/**
 * Since when no gesture is open although input of ours may still come: until the executor says that all of it was
 * answered.
 */
let unanswered = Infinity;
/** Input of ours may still come although no gesture is open. */
export const awaitInput = () => {
  if (!gesture) unanswered = performance.now();
};
/** An executor that has not said so after this many milliseconds is dead; what comes then is a person's. */
const ABANDONED = 600000;
const awaitsInput = () => {
  const waited = performance.now() - unanswered;
  return waited >= 0 && waited < ABANDONED;
};
/** Those who asked for the report of the gesture that comes next, and for its first event. */
let early = [];
let earlyPress = [];
const finished = () => gesture && (gesture.blocked || gesture.done);
const settle = () => {
  for (const resolve of gesture?.waiters.splice(0) ?? []) resolve();
};
const RELEASES = new Set(["pointerup", "mouseup", "drop"]);
/** What an event is for: a drag is released where it ends. */
const aimOf = (event) => (gesture.ends && RELEASES.has(event.type) ? endUnder(event) : gesture.target);

const linkHref = getter(HTMLAnchorElement.prototype, "href");
/** The button that Enter in a field of a form presses, and what that button makes of the form. */
const submitterOf = (form) => {
  const found = cb.defaultButtonOf(form);
  const said = (name) => attr(found, name);
  return found ? JSON.stringify([cb.idOf(found), ...["name", "value", "formaction", "formmethod"].map(said)]) : null;
};
/** Fields that hid what is typed when a credential was resolved for them, for the gesture that is opened next. */
let hiding = [];
act.bindsSecret = (id) => {
  const field = element(id);
  hiding = field ? cb.boxesFrom(field).filter(cb.hidesText) : [];
  return true;
};
/** Events that bring text. */
const BRINGS = new Set(["keydown", "beforeinput"]);
const BROUGHT = "[role=tooltip], [popover]";
const isDrawnAside = (one) => ["absolute", "fixed"].includes(cb.styleOf(one).position);
/** Tips that only the pointer brought. */
const isTipSince = (one) =>
  !!gesture?.inner && (matches(one, BROUGHT) || isDrawnAside(one)) && !gesture.inner.has(one) && cb.isVisible(one);
/**
 * What a control is called, without the controls and menus in it, numbers, which count, and tips that the pointer
 * brought.
 */
const calledOf = (found) => {
  const isNamed = attr(found, "aria-label") !== null || attr(found, "aria-labelledby") !== null;
  const menus = innerOf(found).filter((one) => cb.isMenuOf(found, one));
  const isInMenu = (one) => menus.some((menu) => cb.contains(menu, one));
  const isFull = !isNamed && Array.from(queryWithin(found, INTERACTIVE)).some((one) => !isInMenu(one));
  let words = isFull ? cb.ownText(found, 200) : cb.nameOf(found);
  if (isFull) for (const menu of menus) if (cb.isVisible(menu)) words = words.replace(cb.ownText(menu, 200), "");
  if (gesture?.inner)
    for (const one of innerOf(found)) if (isTipSince(one)) words = words.replace(cb.textOf(one).trim(), "");
  return cb.collapse(words.replace(/\d+/g, ""));
};
/** What is in an element and in its shadow tree, the first 200. */
const innerOf = (found) => {
  const inner = [];
  const add = (root) => {
    for (const one of cb.queryAll(root, "*")) {
      if (inner.length >= 200) return;
      inner.push(one);
      addShadow(one);
    }
  };
  const addShadow = (host) => {
    const root = cb.shadowOf(host);
    if (root) add(root);
  };
  addShadow(found);
  add(found);
  return inner;
};
/** What a press acts on by its name; native boxes are called by their labels. */
const CALLED = `${INTERACTIVE}, input:not([type=hidden i]), select, label`;
const OPENERS = ["popovertarget", "popovertargetaction", "commandfor", "command"];
/** The text of an option, without its menu, which may be drawn once the pointer comes, and tips. */
const chosenText = (found) => cb.textWithout(found, (one) => cb.isMenuOf(found, one) || isTipSince(one));
const CHOSEN = new Set(["option", "menuitem", "menuitemradio", "menuitemcheckbox", "treeitem", "tab"]);
/** What may be an entry of the list of a field that the press takes the focus from. */
const LISTED = new Set([...CHOSEN].filter((role) => role !== "tab"));
/**
 * What activating an element does, as far as its markup says: where a link leads, what a form does, what opens, what
 * an option is called.
 */
const meaningOf = (target) => {
  const label = labelAround(target);
  const found = closestInteractive(target) || (label && isPartOfLabel(label, target) && controlOf(label)) || target;
  const form = cb.formOf(found);
  return {
    href: found instanceof HTMLAnchorElement ? linkHref(found) : null,
    formaction: attr(found, "formaction"),
    formmethod: attr(found, "formmethod"),
    type: attr(found, "type"),
    form: form && cb.idOf(form),
    action: form && attr(form, "action"),
    method: form && attr(form, "method"),
    submitter: form && gesture?.kind === "keys" ? submitterOf(form) : null,
    opens: OPENERS.map((name) => attr(found, name) ?? "").join(" "),
    text: CHOSEN.has(cb.roleOf(found)) ? cb.collapse(chosenText(found)) : null,
    called: matches(found, CALLED) ? calledOf(found) : null,
  };
};
/** What of the target's meaning is another than it was `before`, in words, but for `ids`; null if nothing is. */
const changeOf = (target, ids = [], before = gesture.meaning) => {
  const now = meaningOf(target);
  const name = Object.keys(now).find((name) => now[name] !== before[name] && !ids.includes(name));
  return name ? cb.cut(`${name} ${JSON.stringify(before[name])} → ${JSON.stringify(now[name])}`, 200) : null;
};
/**
 * What the page makes of the target in answer to a part of the gesture is no other meaning; what it makes of it between
 * two parts is. An answer is what the page's listeners have changed by the end of the part, and what they had the
 * browser do next.
 */
const accept = () => {
  const { target, kind, activates } = gesture;
  if (kind === "keys" && !activates) return acceptItems();
  if (!target || !isConnected(target)) return;
  gesture.accepted = { around: aroundOf(target), meaning: meaningOf(target) };
};
const acceptSoon = (type) => {
  const [now, watch] = [gesture, watching];
  // Values that the page changes in answer to an activation are an effect of it, though no node changes with them.
  const held = type === "click" || (now.activates && !now.typing) ? heldNow() : null;
  const before = type === "pointerdown" ? heldNow() : null;
  const again = () => {
    if (gesture === now) accept();
    if (watch && held !== null && heldNow() !== held) watch.noteAnswer();
  };
  let isOver = false;
  // Behind what the listeners put off until another task, and before their timers, however late this process is.
  const over = (event) => {
    isOver = true;
    again();
    // The focus has not moved yet: an entry that is taken on the press has set its field.
    if (event?.type === "mousedown" && heldNow() !== before) {
      now.isTaken = true;
      watch?.noteAnswer();
    }
    soon(again);
    setTimeout(again);
  };
  // Behind the page's listeners, also of the focus that a press gives; and later, where one of them stops the event.
  for (const last of [FOLLOWED[type] ?? type, ...(type === "pointerdown" ? ["focusin"] : [])])
    globalThis.addEventListener(last, over, { once: true });
  soon(() => {
    if (!isOver) over();
  });
};
/** The last event of the same task. */
const FOLLOWED = { pointerdown: "mousedown", pointerup: "mouseup", beforeinput: "input" };
/** Does `work` in another task, before timers. */
export const soon = (work) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    work();
  };
  port2.postMessage(null);
};
/** What a control may call itself, or lead to, in answer to a press. */
const ANSWERS = ["called", "href", "text"];
/**
 * What became of the target since the gesture began that is no answer to it, in words: another row has its place, or it
 * opens or sends something else. A row may say more than before.
 */
const changeSinceFirst = (target) => {
  const items = itemsAround(target);
  const isOther = gesture.first.some((name, at) => !items[at]?.includes(name));
  return isOther ? describeMeaning(target) : changeOf(target, ANSWERS);
};
/** What became of the target between two parts of the gesture, in words; null if nothing did. */
const changeBetween = (target) => {
  const { accepted } = gesture;
  // Nothing of the page came between if not even our own task did.
  if (!accepted) return null;
  if (aroundOf(target) !== accepted.around) return describeMeaning(target);
  return changeOf(target, [], accepted.meaning);
};
/**
 * What the targets of this step meant when its first gesture was opened: one that was stopped before anything saw it
 * is made again.
 */
let meanings = new Map();
export const forgetMeanings = () => {
  meanings = new Map();
};
/** Keys that activate something once they are pressed; others only enter text. */
const ACTIVATES = new Set(["Enter", " "]);
/**
 * Why an event that goes to the target may not pass: null if it may. All that must still hold of the target is looked
 * at here and nowhere else; `gesture.seen` is empty at the first event.
 */
const objection = (event, target) => {
  if (BRINGS.has(event.type) && gesture.hiding.some((field) => !cb.hidesText(field)))
    return { type: event.type, reason: "revealed", by: "" };
  const isFirst = !gesture.seen.length;
  const about = (by) => (by ? { type: event.type, reason: "changed", by } : null);
  const isRelease = RELEASES.has(event.type) && gesture.ends;
  // What changed before a key goes down or up is no answer to it, and would be taken in with that answer.
  if (gesture.kind === "keys" && !isFirst && BEGINS.has(event.type)) gesture.moved ??= changedItems();
  if (isRelease) {
    const { row } = gesture.endSeen ?? {};
    return about(row && restOfRow(gesture.end) === row ? null : changedItems());
  }
  if (event.type === "beforeinput" && !isFirst) return about(gesture.moved ?? changedItems());
  const other = isFirst ? changedMeaning() : null;
  if (other) return about(other);
  if (target !== gesture.target) return null;
  if (KEYS.has(event.type)) {
    if (gesture.typing || !ACTIVATES.has(event.key)) return null;
    gesture.activates = true;
  }
  if (isFirst) {
    gesture.first = itemsAround(target);
    return about(changeOf(target));
  }
  // The press took the focus from a field, and the page took its value. An entry of its list may be meant instead.
  const lost = ENDS.has(event.type) && !LISTED.has(gesture.targetRole) ? lostSince() : null;
  if (lost) return { type: event.type, reason: "lost", by: "", lost };
  if (BEGINS.has(event.type)) gesture.displaced ??= changeBetween(target);
  const acts = ACTS.has(event.type) || gesture.expects?.type.includes(event.type);
  return acts ? about(gesture.displaced ?? changeSinceFirst(target)) : null;
};
/** Events that begin a part of a gesture: what follows them, up to a click, is of the same task. */
const BEGINS = new Set(["pointerdown", "pointerup", "keydown", "keyup"]);
/** Events of a press by which the focus has moved. */
const ENDS = new Set(["pointerup", "mouseup", "click"]);
/** Events after which the page's answer is taken in. */
const ANSWERED = new Set([...BEGINS, "click", "beforeinput"]);
/** Events that act on what was pressed. */
const ACTS = new Set(["mousedown", "click", "auxclick", "dblclick", "contextmenu", "keydown", "keypress", "keyup"]);

const FRAME_TAGS = "iframe, frame, object, embed, fencedframe";
const CONTROLS = `${INTERACTIVE}, input, select, textarea, label, [onclick], ${FRAME_TAGS}`;
/** What a press at `origin` is for, as far as the markup says: the control around it, or itself. */
const pressedAt = (origin) => {
  for (let up = origin; up; up = cb.composedParentOf(up))
    if (matches(up, CONTROLS) && !matches(up, "html, body")) return up;
  return origin;
};
/** The drawing that a shape belongs to: shapes move and swell under the pointer, and words lie over them. */
const drawingOf = (found) => {
  let up = found;
  while (up && !matches(up, "svg")) up = cb.composedParentOf(up);
  return up;
};
/** Where the pointer is, in all documents alike: a frame that moves below it is at another place of its own. */
const screenPlaceOf = (event) => `${event.screenX},${event.screenY}`;
/** Places at which it is kept what the pointer came to: ours, and those of a person or of a document just loaded. */
const MAX_PLACES = 64;
/** The place of the gesture itself, in the document that knows it before the pointer comes. */
const ARMED_AT = "armed at";
/** Keeps what a gesture without a target finds at a place before it is pressed. */
const noteUnder = (place, origin) => {
  if (gesture.under.has(ARMED_AT) || gesture.under.has(place)) return;
  if (gesture.under.size >= MAX_PLACES) gesture.under.delete(gesture.under.keys().next().value);
  const thing = pressedAt(origin);
  const inner = (gesture.inner = new WeakSet(innerOf(thing).filter((one) => cb.isVisible(one))));
  const note = { thing, inner, shape: shapeOf(thing), drawing: drawingOf(thing), meaning: meaningOf(thing) };
  gesture.under.set(place, note);
};
const shapeOf = (thing) => `${cb.roleOf(thing)} ${describe(thing)} ${cb.collapse(cb.textOf(thing))}`;
/**
 * Why a press at a point may not pass: null if what lies there is what lay there before the pointer came. A page that
 * drew it again has put the same there.
 */
const objectionAt = (event, origin) => {
  const notes = gesture.under;
  // A window that moved, or a rounded place, opens nothing: then the last one counts.
  const under = notes.get(ARMED_AT) ?? notes.get(screenPlaceOf(event)) ?? Array.from(notes.values()).at(-1);
  if (!under) return null;
  gesture.inner = under.inner;
  gesture.meaning = under.meaning;
  const thing = pressedAt(origin);
  const isPlain = !matches(thing, CONTROLS) && !matches(under.thing, CONTROLS);
  const isNested = cb.contains(under.thing, thing) || cb.contains(thing, under.thing);
  const isPart = isPlain && (isNested || (!!under.drawing && drawingOf(thing) === under.drawing));
  const isRedone = !isConnected(under.thing) && shapeOf(thing) === under.shape;
  if (thing !== under.thing && !isPart && !isRedone)
    return { type: event.type, reason: "elsewhere", by: describe(thing), takes: takesClicks(origin) };
  const change = isPart ? null : changeOf(thing, isRedone ? ["form", "submitter"] : []);
  return change && { type: event.type, reason: "changed", by: change };
};
/** What a person reads on the thing at a point, short of a whole region: what the page would be told was pressed. */
act.wordsAt = (x, y) => {
  const hit = hitAt(x, y);
  if (!hit || matches(hit, FRAME_TAGS)) return "";
  const thing = pressedAt(hit);
  const words = cb.nameOf(thing) || cb.textOf(thing);
  return words.length > 200 ? "" : words;
};
/** Whether another document lies at a point. */
act.isFrameAt = (x, y) => {
  const hit = hitAt(x, y);
  return !!hit && matches(hit, FRAME_TAGS);
};

/** What appeared in answer to the press and covers the target: a list, a menu, a dialog. */
const POPPED =
  "dialog, [role=dialog], [role=alertdialog], [role=menu], [role=listbox], [role=tree], [role=grid], [popover]";
const isAnswer = (origin) => {
  if (isOverField(origin)) {
    watching?.noteAnswer();
    return true;
  }
  const isNew = (found) => matches(found, POPPED) && !gesture.shown.has(found);
  for (let up = origin; up; up = cb.parentOf(up)) if (isNew(up)) return true;
  // The backdrop of what opened lies over the target, too.
  return !takesClicks(origin) && Array.from(surveyed()).some((found) => isNew(found) && cb.isVisible(found));
};
/**
 * Whether the target is a field that has got the focus, and this came over it since the press: a calendar or a keypad
 * that is drawn without a role. A press is there to give the focus.
 */
const isOverField = (origin) => {
  const { target, stack } = gesture;
  if (!stack || !matches(target, EDITABLE) || activeElement() !== target) return false;
  for (let up = origin; up && !cb.contains(up, target); up = cb.composedParentOf(up)) if (stack.has(up)) return false;
  return true;
};
/** The target was there when the focus left another field, and what the page then draws is no answer to the press. */
const noteLeaving = (event) => {
  const target = gesture?.kind === "mouse" ? gesture.target : null;
  if (!target || !isConnected(target) || cb.contains(target, originOf(event))) return;
  // What the page did by now is its answer to the press itself.
  if (gesture.seen.length && !gesture.isLeaving) gesture.hasActed = !!watching?.hasEffectElsewhere();
  gesture.isLeaving = true;
};
for (const type of ["change", "blur"]) globalThis.addEventListener(type, noteLeaving, true);
/**
 * Whether the page did nothing about the press but to draw itself again: something with the name and role of the
 * target stands in its place.
 */
const isRedrawn = (origin) => {
  const called = gesture.meaning?.called ?? null;
  if (!gesture.seen.length || gesture.isTaken) return false;
  if (called === null) return gesture.isLeaving && isRewritten(origin);
  const isTwin = (found) =>
    cb.roleOf(found) === gesture.targetRole &&
    meaningOf(found).called === called &&
    statesKey(found) === gesture.targetStates;
  // What was put in at this moment may not be hit yet.
  const label = labelAround(origin);
  const around = [origin, closestInteractive(origin), label && controlOf(label)];
  const there = [...around, ...Array.from(queryWithin(origin, CALLED)).slice(0, 20)];
  return there.some((found) => found && isTwin(found)) && (gesture.isLeaving || !watching?.hasEffectElsewhere());
};
/** What of a control a press may turn. */
const statesKey = (found) => {
  const { checked, pressed, expanded, selected } = cb.statesOf(found);
  return JSON.stringify([checked, pressed, expanded, selected]);
};
/** Whether what lies at a place says what the target, which is no control, said there. */
const isRewritten = (origin) => {
  const tag = tagOf(gesture.target);
  const there = [origin, cb.parentOf(origin), ...Array.from(queryWithin(origin, tag)).slice(0, 20)];
  return there.some((found) => found && tagOf(found) === tag && sameWords(cb.textOf(found), gesture.text));
};
const why = (event, origin) => {
  const target = aimOf(event);
  const about = (reason, by, more) => ({ type: event.type, reason, by, ...more });
  if (!target) return about("elsewhere", describe(origin));
  if (!isConnected(target)) {
    const mayRepeat = gesture.isLeaving && !gesture.hasActed;
    return isRedrawn(origin) ? about("redrawn", describe(origin), { mayRepeat }) : about("stale", describe(origin));
  }
  if (KEYS.has(event.type)) return about("focus", describe(origin));
  if (!isThere(target) || cb.styleOf(target).pointerEvents === "none") return about("hidden", describe(origin));
  const box = boxOf(target);
  const moved =
    target === gesture.target && (Math.abs(box.x - gesture.box.x) > 1 || Math.abs(box.y - gesture.box.y) > 1);
  const inner = cb.contains(target, origin) ? controlWithin(target, origin) : null;
  const by = inner ? describe(inner) : blockerOf(origin, target);
  return about(!inner && moved ? "moved" : "covered", by, {
    takes: !inner && takesClicks(origin),
    popped: isAnswer(origin),
  });
};
const allAt = method(Document.prototype, "elementsFromPoint");
/** What the page put in after the press and moves with the pointer, such as a copy of what is dragged. */
const startCarrying = (target) => {
  const added = new Map();
  let pointer = null;
  const put = (records) => {
    for (const { addedNodes } of records) {
      for (const node of addedNodes) {
        if (!isElement(node) || cb.contains(node, target)) continue;
        // What moves may lie in a wrapper that does not.
        for (const found of [node, ...Array.from(queryWithin(node, "*")).slice(0, 5)])
          if (added.size < 50) added.set(found, null);
      }
    }
  };
  const observer = new MutationObserver(put);
  observer.observe(document, { childList: true, subtree: true });
  const take = () => put(observer.takeRecords());
  const offset = (found) => ({ x: rectOf(found).x - pointer.x, y: rectOf(found).y - pointer.y });
  const near = (a, b) => Math.abs(a.x - b.x) < 6 && Math.abs(a.y - b.y) < 6;
  /** Our listener comes before the page's: where things are belongs to where the pointer was before. */
  const moved = ({ clientX: x, clientY: y }) => {
    take();
    if (pointer && !near(pointer, { x, y }))
      for (const found of added.keys()) if (isConnected(found)) added.set(found, offset(found));
    pointer = { x, y };
  };
  const isCarried = (origin) => {
    take();
    for (const [found, last] of added) {
      if (last && isConnected(found) && cb.contains(found, origin) && near(last, offset(found))) return true;
    }
    return false;
  };
  return { moved, isCarried, stop: () => observer.disconnect() };
};
/**
 * Whether what is released is what was dragged, held by the pointer or drawn under it, and lies over the end, or in
 * its place: a list may sort itself on the way. Nothing foreign may lie between.
 */
const isCarriedTo = (end, origin, event) => {
  const held = gesture.target;
  const isHeld = (found) => (held && cb.contains(held, found)) || gesture.carrying?.isCarried(found);
  if (!isHeld(origin)) return false;
  const below = allAt(document, event.clientX, event.clientY).find(
    (found) => !isHeld(found) && !(held && cb.contains(found, held)),
  );
  return !below || reaches(end, below) || cb.contains(below, end) || isSortedIn(end, below);
};
/** The entry of a list that an element is or lies in: what has something of its kind beside it. */
const entryOf = (inner) => {
  let up = inner;
  for (let depth = 0; up && depth < 4; depth++) {
    const around = cb.parentOf(up);
    if (!around || matches(around, "body, html")) return null;
    const kind = kindOfEntry(up);
    if (cb.childrenOf(around).some((one) => one !== up && isElement(one) && kindOfEntry(one) === kind)) return up;
    up = around;
  }
  return null;
};
const kindOfEntry = (entry) => `${tagOf(entry)} ${cb.roleOf(entry)}`;
const entryDragged = (target) => {
  const entry = entryOf(target) ?? target;
  const around = [target, cb.parentOf(target), entry].filter((one) => one && cb.contains(entry, one));
  return { entry, kinds: around.map(kindOfEntry), text: cb.textOf(entry) };
};
const ROW = "tr, li, [role=row], [role=listitem]";
/** What an element says but for what is dragged, which may come into it or leave it. */
const restOf = (found) => {
  const carried = gesture.target ? cb.textOf(gesture.target) : "";
  return cb.collapse(carried ? cb.textOf(found).replaceAll(carried, " ") : cb.textOf(found));
};
/** What the row of an element says but for what is dragged; null without a row. */
const restOfRow = (found) => {
  let row = found;
  while (row && !matches(row, ROW)) row = cb.parentOf(row);
  return row ? restOf(row) : null;
};
/**
 * Whether the list that the end is in has sorted itself meanwhile: where the end was is now what is dragged, drawn anew
 * or not, or a gap for it.
 */
const isSortedIn = (end, origin) => {
  const { entry: dragged, kinds, text } = gesture.dragged ?? {};
  const entry = dragged ? entryOf(end) : null;
  const list = entry && kinds.includes(kindOfEntry(entry)) ? cb.parentOf(entry) : null;
  if (!list || !cb.contains(list, origin)) return false;
  if (origin === list) return true;
  let there = origin;
  while (cb.parentOf(there) && cb.parentOf(there) !== list) there = cb.parentOf(there);
  return there === dragged || (kinds.includes(kindOfEntry(there)) && sameWords(cb.textOf(there), text));
};
/** Whether a drag ends where its end was, in what holds that: the page has the pointer pass over all its entries. */
const isMutedIn = (end, origin, { clientX: x, clientY: y }) => {
  if (cb.styleOf(end).pointerEvents !== "none" || !cb.contains(origin, end)) return false;
  if (matches(origin, "html, body")) return false;
  const { box } = gesture.endSeen ?? {};
  return !!box && x >= box.x && y >= box.y && x <= box.x + box.width && y <= box.y + box.height;
};
/** Where a drag ends: once the page has drawn that anew, what says what it said, or has its place without a word. */
const endUnder = (event) => {
  const { end, endSeen } = gesture;
  if (!end || !endSeen || isConnected(end)) return end;
  const isThereNow = (found) => {
    if (kindOfEntry(found) !== endSeen.kind || restOf(found) !== endSeen.text) return false;
    const { x, y } = rectOf(found);
    return endSeen.text !== "" || (Math.abs(x - endSeen.box.x) < 3 && Math.abs(y - endSeen.box.y) < 3);
  };
  const origin = originOf(event);
  for (let up = origin; up && !matches(up, "body, html"); up = cb.parentOf(up))
    if (isThereNow(up)) return (gesture.end = up);
  gesture.end = Array.from(queryWithin(origin, "*")).slice(0, MAX_PARTS).find(isThereNow) ?? end;
  return gesture.end;
};
/** A button that Space pressed stays down until it loses the focus, which it may have lost before. */
const comeUp = () => {
  const root = rootElement(document);
  const pressed = root ? Array.from(queryWithin(root, ":active")).pop() : null;
  if (!(pressed instanceof HTMLElement)) return;
  const had = activeElement();
  focusOf(pressed);
  blurOf(pressed);
  if (had instanceof HTMLElement && had !== bodyOf(document)) focusOf(had);
};
/**
 * A drag that may not end where it was to end is let go where it began, for the page to leave it: by an event of
 * ours, which reaches nothing else.
 */
const letGo = (event) => {
  const from = gesture.target;
  if (event.type === "keyup") return comeUp();
  if (!gesture.ends || gesture.isData || !from || !isConnected(from) || !gesture.seen.includes("pointerdown")) return;
  const { x, y } = gesture.from;
  const at = { bubbles: true, cancelable: true, composed: true, clientX: x, clientY: y, view: window };
  if (event.type === "pointerup")
    dispatch(
      from,
      new PointerEvent("pointercancel", {
        ...at,
        pointerId: event.pointerId,
        pointerType: event.pointerType,
        isPrimary: event.isPrimary,
      }),
    );
  if (event.type === "mouseup") dispatch(from, new MouseEvent("mouseup", at));
};
/**
 * What an event is at. While the page has something around what is dragged capture the pointer, the events of a release
 * name that, wherever it happens.
 */
const releasedOn = (event) => {
  const origin = originOf(event);
  if (!gesture.ends || !RELEASES.has(event.type) || !gesture.target) return origin;
  const isCaptured = event instanceof PointerEvent && hasPointerCapture(origin, event.pointerId);
  if (isCaptured && cb.contains(origin, gesture.target)) gesture.captor = origin;
  return origin === gesture.captor ? (hitAt(event.clientX, event.clientY) ?? origin) : origin;
};
const block = (event, reason) => {
  guard.block(event);
  if (event.type === "keyup") return letGo(event);
  if (gesture.ends && event.type === "mouseup" && gesture.seen.includes("pointerup")) {
    // Released where it ends already; the page has sorted itself since, and this is for nobody.
    gesture.done = true;
    settle();
    return;
  }
  gesture.blocked ??= reason();
  settle();
  letGo(event);
};
/** No gesture is under way: what comes now is a person's, or late. */
const handleAlone = (event) => {
  if (event.type === "keyup" && awaitsInput()) comeUp();
  // A document that nobody has spoken to yet: what comes now was meant for the one before it.
  if (guard.closed || awaitsInput() || (!isKnown && guard.isForFormer(event))) guard.block(event);
};
const handle = (event) => {
  if (guard.passing.has(event.type)) {
    if (gesture?.kind === "mouse") watching?.begin();
    if (gesture?.mode === "point" && !gesture.seen.length)
      noteUnder(screenPlaceOf(event), originOf(event));
    if (event.type === "pointermove") gesture?.carrying?.moved(event);
    if (event.type === "dragstart" && gesture) gesture.isData = true;
    return;
  }
  if (guard.isMade(event)) return;
  const now = performance.now();
  if (!gesture || now > gesture.until + ABANDONED) return handleAlone(event);
  const keys = KEYS.has(event.type);
  if (keys !== (gesture.kind === "keys")) return handleAlone(event);
  // Sent for a gesture before this one. `beforeinput` is dated when it happens; all other events know when they were
  // sent.
  if (event.type !== "beforeinput" && event.timeStamp < gesture.since - TICK) {
    guard.block(event);
    return;
  }
  const origin = releasedOn(event);
  const isOver = now > gesture.until;
  if (gesture.mode === "inert" && !isOver && ACTIVATES.has(event.key)) {
    // What got the focus since the step was judged.
    const found = closestInteractive(origin) ?? (cb.formOf(origin) && origin);
    if (found) return block(event, () => ({ type: event.type, reason: "focus", by: describe(found) }));
  }
  if (gesture.mode === "point" && !isOver) {
    const refused = gesture.blocked ?? (event.type === "pointerdown" ? objectionAt(event, origin) : null);
    if (refused) return block(event, () => refused);
  }
  if (gesture.mode !== "target" && !isOver) {
    if (watching && event.type === "mousedown") watching.hit = origin;
    gesture.seen.push(event.type);
    return;
  }
  const target = aimOf(event);
  // A drag ends in a click on what both ends have in common, which is for neither of them.
  if (gesture.ends && (event.type === "click" || event.type === "auxclick")) {
    guard.block(event);
    return;
  }
  const arrives = () => {
    if (keys) return receivesKeys(target, origin, gesture.holder) || isNextBox(origin);
    if (event.type === "drop" || target === gesture.end)
      return (
        reaches(target, origin) ||
        (target === gesture.end &&
          (isCarriedTo(target, origin, event) || isSortedIn(target, origin) || isMutedIn(target, origin, event)))
      );
    if (!receives(target, origin) || (gesture.ends && draggableWithin(target, origin))) return false;
    // What came under the pointer since may do something else, if it looks like it.
    return !pointedWithin(target, origin, (up) => !gesture.inner?.has(up));
  };
  // After its deadline nothing passes, whenever it was sent: a slow link or a busy browser brings our own input late.
  const open = target && !gesture.blocked && !isOver && isConnected(target) && arrives();
  if (!open) return block(event, () => why(event, origin));
  const refused = objection(event, target);
  if (refused) return block(event, () => refused);
  watching?.begin(event);
  if (event.type === "keydown") gesture.lastKey = event;
  if (event.type === "pointerup" && gesture.ends) gesture.releasedOn = origin;
  if (gesture.from === null) {
    gesture.from = { x: event.clientX, y: event.clientY };
    if (!keys) gesture.stack = new Set(allAt(document, event.clientX, event.clientY));
  }
  if (gesture.seen.length < 1000) gesture.seen.push(event.type);
  for (const tell of gesture.pressed.splice(0)) tell(true);
  if (ANSWERED.has(event.type) && (!keys || gesture.activates || event.type === "beforeinput")) acceptSoon(event.type);
  const { type, count } = gesture.expects ?? {};
  if (type?.includes(event.type) && gesture.seen.filter((seen) => type.includes(seen)).length >= count) {
    gesture.done = true;
    settle();
  }
};
/** Boxes of one character pass the focus on as they are filled. */
const isNextBox = (origin) => {
  const at = gesture.boxes.indexOf(origin);
  if (at < gesture.reached) return false;
  gesture.reached = at;
  return true;
};
/** The most elements in a target whose text is remembered. */
const MAX_PARTS = 50;
/** Slack between the clock of events and ours, in milliseconds. */
const TICK = 5;
if (guard) guard.handle = handle;

const defaultPrevented = getter(Event.prototype, "defaultPrevented");
/** Whether the page kept the browser from doing what the last key does. */
export const isLastKeyHandled = () => !!gesture?.lastKey && defaultPrevented(gesture.lastKey);
const endGesture = () => {
  settle();
  gesture?.carrying?.stop();
  gesture = null;
};
export const openGesture = (spec) => {
  isKnown = true;
  if (!guard || !spec) return true;
  endGesture();
  guard.handle = handle;
  guard.listen();
  guard.closed = !!spec.closed;
  const target = spec.id ? element(spec.id) : null;
  beginLeaving(target);
  const end = spec.end ? element(spec.end) : null;
  const isLost = (spec.id && !target) || (spec.end && !end);
  // What is lost is shut like any frame that has no part in the gesture.
  gesture = {
    kind: spec.kind,
    mode: spec.mode,
    target,
    end,
    ends: spec.ends,
    box: target ? boxOf(target) : null,
    meaning: null,
    // By place, without a target.
    under: new Map(),
    targetRole: target ? cb.roleOf(target) : null,
    targetStates: target ? statesKey(target) : null,
    inner: target && spec.kind === "mouse" ? new WeakSet(innerOf(target).filter((one) => cb.isVisible(one))) : null,
    // The field within a target that has the focus takes its keys; a field of its own right takes them itself.
    holder: spec.kind === "keys" && !(target && matches(target, EDITABLE)) ? activeElement() : null,
    from: null,
    // What has captured the pointer, and what a drag was released on.
    captor: null,
    releasedOn: null,
    // What the target says, if it is no control.
    text: "",
    // What lay under the pointer at the first event.
    stack: null,
    isLeaving: false,
    hasActed: false,
    // The press has set a field.
    isTaken: false,
    lastKey: null,
    typing: !!spec.typing,
    // Only while text is typed: a key that acts on a box is for that box.
    boxes: target && spec.kind === "keys" && spec.typing ? cb.boxesFrom(fieldOf(target)) : [],
    reached: 1,
    // What the target meant after the last part of the gesture, and what became of it before the next one.
    accepted: null,
    // What names the things around the target at the first event.
    first: [],
    displaced: null,
    moved: null,
    activates: false,
    shown: new Set(target && spec.kind === "mouse" ? Array.from(surveyed()).filter(cb.isVisible) : []),
    isData: false,
    carrying: target && spec.ends ? startCarrying(target) : null,
    dragged: target && spec.ends ? entryDragged(target) : null,
    endSeen: null,
    hiding: hiding.splice(0),
    expects: spec.expects,
    since: performance.now(),
    until: spec.by ?? performance.now() + spec.ms,
    seen: [],
    blocked: null,
    done: false,
    waiters: early.splice(0),
    pressed: earlyPress.splice(0),
  };
  if (target) {
    if (!meanings.has(target)) meanings.set(target, meaningOf(target));
    gesture.meaning = meanings.get(target);
    const isPlain = spec.kind === "mouse" && gesture.meaning.called === null;
    if (isPlain && queryWithin(target, "*").length <= MAX_PARTS) gesture.text = cb.textOf(target);
  }
  if (end) gesture.endSeen = { kind: kindOfEntry(end), box: rectOf(end), text: restOf(end), row: restOfRow(end) };
  const under = spec.at ? hitAt(spec.at.x, spec.at.y) : null;
  if (under) noteUnder(ARMED_AT, under);
  unanswered = Infinity;
  return !isLost;
};
/** Whether the target of a gesture that it saw nothing of still means what it did: what the pointer brought may not. */
const isUnchanged = () => {
  const { target, seen } = gesture;
  return !!target && !seen.length && isConnected(target) && !changeOf(target) && !changedMeaning();
};
/** Whether a drag was released, and no further event comes: the page took that away, or wants no mouse events. */
const isReleased = () => {
  const { releasedOn, blocked, seen } = gesture;
  return !!releasedOn && !blocked && (!isConnected(releasedOn) || !seen.includes("mousedown"));
};
export const reportGesture = () =>
  gesture
    ? {
        done: gesture.done || isReleased(),
        same: isUnchanged(),
        blocked: gesture.blocked,
        seen: gesture.seen.slice(-50),
        connected: !gesture.target || isConnected(gesture.target),
      }
    : null;
export const arrival = async (budget) => {
  if (budget > 0 && gesture && !finished()) {
    await new Promise((resolve) => {
      gesture.waiters.push(resolve);
      setTimeout(resolve, budget);
    });
  }
};
/** Settles when the gesture has arrived or was blocked, or after `budget` milliseconds. */
act.gesture = async (budget) => {
  await arrival(budget);
  return reportGesture();
};
/**
 * The same for the gesture that is opened next: who asks before it is opened misses nothing, even if the gesture ends
 * this document.
 */
act.nextGesture = (budget) =>
  new Promise((resolve) => {
    const tell = () => resolve(reportGesture());
    early.push(tell);
    setTimeout(tell, budget);
  });
/** Whether the first event of the gesture that is opened next arrived; said before the page hears of it. */
act.nextPress = (budget) =>
  new Promise((resolve) => {
    earlyPress.push(resolve);
    setTimeout(() => resolve(false), budget);
  });
act.open = (spec) => openGesture(spec);
/** Ends the gesture. Once all input of ours was `answered`, what comes is a person's; until then nothing passes. */
act.shut = (answered) => {
  const report = reportGesture();
  isKnown = true;
  if (gesture?.ends && !answered)
    for (const type of ["pointerup", "mouseup"])
      if (!gesture.seen.includes(type)) letGo({ type, pointerId: 1, pointerType: "mouse", isPrimary: true });
  endGesture();
  unanswered = answered ? Infinity : performance.now();
  return report;
};
