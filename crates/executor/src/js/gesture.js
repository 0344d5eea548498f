// What the guard lets through while a gesture of ours is under way.
const guard = globalThis.__cuebookGuard;
const KEYS = new Set(["keydown", "keypress", "keyup", "beforeinput"]);
let gesture = null;
/** By when all that the step does here must have been done, on this document's clock. */
let deadline = Infinity;
const isLate = () => performance.now() > deadline;
/** The executor has armed something in this document, or looked at it. */
let isKnown = false;
/** Those who asked for the report of the gesture that comes next. */
let early = [];
const finished = () => gesture && (gesture.blocked || gesture.done);
const settle = () => {
  for (const resolve of gesture?.waiters.splice(0) ?? []) resolve();
};
const RELEASES = new Set(["pointerup", "mouseup", "drop"]);
/** What an event is for: a drag is released where it ends. */
const aimOf = (event) => (gesture.ends && RELEASES.has(event.type) ? gesture.end : gesture.target);
const why = (event, origin) => {
  const target = aimOf(event);
  if (!target) return { type: event.type, reason: "elsewhere", by: describe(origin) };
  if (!isConnected(target)) return { type: event.type, reason: "stale", by: describe(origin) };
  if (KEYS.has(event.type)) return { type: event.type, reason: "focus", by: describe(origin) };
  const box = boxOf(target);
  const moved = target === gesture.target && (Math.abs(box.x - gesture.box.x) > 1 || Math.abs(box.y - gesture.box.y) > 1);
  return { type: event.type, reason: moved ? "moved" : "covered", by: blockerOf(origin, target), takes: takesClicks(origin) };
};
/** Whether what is released is what was dragged, held by the pointer or drawn under it, and lies over the end, or in its place: a list may sort itself on the way. Nothing foreign may lie between. */
const isCarriedTo = (end, origin, event) => {
  const held = gesture.target;
  if (!held || !cb.contains(held, origin)) return false;
  const below = allAt(document, event.clientX, event.clientY).find((found) => !cb.contains(held, found) && !cb.contains(found, held));
  return !below || receives(end, below) || cb.contains(below, end);
};
const allAt = method(Document.prototype, "elementsFromPoint");
const block = (event, origin) => {
  guard.block(event);
  if (event.type === "keyup") return;
  if (gesture.ends && event.type === "mouseup" && gesture.seen.includes("pointerup")) {
    // Released where it ends already; the page has sorted itself since, and this is for nobody.
    gesture.done = true;
    settle();
    return;
  }
  gesture.blocked ??= why(event, origin);
  settle();
};
/** When the last gesture ended here, and until when what has no time of its own is taken for a part of it. */
const sealed = { at: -Infinity, hard: -Infinity };
const SEAL = 30000;
/** Slack between the clock of events and ours, in milliseconds. */
const TICK = 5;
/** `beforeinput` is told when it happens; all other events know when they were sent. */
const wasSentBy = (event, moment) => (event.type === "beforeinput" ? performance.now() < moment + SEAL : event.timeStamp <= moment);
/** No gesture is under way: what comes now is a person's, or late. */
const handleAlone = (event) => {
  const comesLate = event.type === "beforeinput" ? performance.now() < sealed.hard : event.timeStamp < sealed.at;
  // A document that nobody has spoken to yet: what comes now was meant for the one before it.
  const isNew = !isKnown && performance.now() - guard.born < 1000;
  if (guard.closed || comesLate || isNew) guard.block(event);
};
const handle = (event) => {
  if (guard.passing.has(event.type)) {
    if (gesture?.kind === "mouse") watching?.begin();
    return;
  }
  if (guard.isMade(event)) return;
  if (!gesture) return handleAlone(event);
  const now = performance.now();
  if (now > gesture.until && !wasSentBy(event, gesture.until)) return handleAlone(event);
  if (event.type !== "beforeinput" && event.timeStamp < gesture.since - TICK) { guard.block(event); return; }
  const keys = KEYS.has(event.type);
  if (keys !== (gesture.kind === "keys")) return handleAlone(event);
  const origin = originOf(event);
  if (gesture.mode === "any" && now <= gesture.until) { gesture.seen.push(event.type); return; }
  const target = aimOf(event);
  // A drag ends in a click on what both ends have in common, which is for neither of them.
  if (gesture.ends && (event.type === "click" || event.type === "auxclick")) { guard.block(event); return; }
  const arrives = () => receives(target, origin) || (target === gesture.end && isCarriedTo(target, origin, event));
  const open = target && !gesture.blocked && now <= gesture.until && isConnected(target) && arrives();
  if (!open) return block(event, origin);
  watching?.begin();
  if (gesture.seen.length < 1000) gesture.seen.push(event.type);
  const { type, count } = gesture.expects ?? {};
  if (type?.includes(event.type) && gesture.seen.filter((seen) => type.includes(seen)).length >= count) {
    gesture.done = true;
    settle();
  }
};
if (guard) guard.handle = handle;

const openGesture = (spec) => {
  isKnown = true;
  settle();
  gesture = null;
  if (!guard || !spec) return true;
  guard.handle = handle;
  guard.listen();
  guard.closed = !!spec.closed;
  const target = spec.id ? element(spec.id) : null;
  const end = spec.end ? element(spec.end) : null;
  if ((spec.id && !target) || (spec.end && !end)) return false;
  gesture = {
    kind: spec.kind, mode: spec.mode, target, end, ends: spec.ends, box: target ? boxOf(target) : null,
    expects: spec.expects, since: performance.now(), until: spec.by ?? performance.now() + spec.ms, seen: [], blocked: null, done: false, waiters: early.splice(0),
  };
  return true;
};
const reportGesture = () => (gesture ? { done: gesture.done, blocked: gesture.blocked, seen: gesture.seen.slice(-50), connected: !gesture.target || isConnected(gesture.target) } : null);
const arrival = async (budget) => {
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
/** The same for the gesture that is opened next: who asks before it is opened misses nothing, even if the gesture ends this document. */
act.nextGesture = (budget) => new Promise((resolve) => {
  const tell = () => resolve(reportGesture());
  early.push(tell);
  setTimeout(tell, budget);
});
act.open = (spec) => openGesture(spec);
/** Ends the gesture. What was sent before this moment and comes after it is late, and stopped; `unsettled` says that there may be such. */
act.shut = (unsettled) => {
  const report = reportGesture();
  settle();
  gesture = null;
  sealed.at = performance.now();
  if (unsettled) sealed.hard = sealed.at + SEAL;
  return report;
};
