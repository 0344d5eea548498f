// @ts-check
// One walk: what changed since the last one is read, the rest is reused.
import * as cb from "cuebook:core";
import { attr, cut, lookOf, ownText, roleOf, shortText, textHead, typeOf } from "cuebook:core";
import { memory } from "./memory.js";
import { CLOSED, examined, forgetAll, Info, isHost, list, OWNER, PASSED, renewKids, WALKED } from "./infos.js";
import { overflow, watch } from "./changes.js";
import { fieldOf, isField, readSurroundings } from "./measure.js";
import { HOSTABLE, labelReason, reasonOf } from "./reasons.js";
import { describe, occlusionOf, topModal, touches } from "./cover.js";
import { cssOf, segmentOf } from "./place.js";
import { crownOf, placeKept, placeKey } from "./context.js";
import { itemsOf, LANDMARKS, summaryOf } from "./sketch.js";
import { activationOf, askedAround, asks } from "./activation.js";
import { rowOf } from "./row.js";

const LIMITS = { landmarks: 40, headings: 40, scrolled: 20, panes: 200, shownPanes: 10, live: 20, suspects: 300 };
const TIME_CHECK = 255;
const isMereScroller = (element) =>
  roleOf(element) === "generic" && lookOf(element).scrolls && !attr(element, "aria-label");

/** The facts of an element that depend on itself and on what is around it. */
const refresh = (run, info) => {
  const { kind, path, structure, points, role } = info;
  read(run, info);
  info.fresh = true;
  if (
    info.kids &&
    (kind !== info.kind ||
      path !== info.path ||
      structure !== info.structure ||
      points !== info.points ||
      isPlainRole(role) !== isPlainRole(info.role))
  )
    renewKids(info);
};
export const read = (run, info) => {
  const { element, tag, parent } = info;
  info.testId = run.tested(element) ? cb.testIdOf(element, run.options.testIds) : undefined;
  if (PASSED_TAGS.has(tag)) {
    info.kind = PASSED;
    return;
  }
  if (tag === "iframe" || tag === "frame" || tag === "object" || tag === "embed") info.kind = OWNER;
  else info.kind = WALKED;
  const box = cb.boxOf(element);
  info.x = box.x;
  info.y = box.y;
  info.width = box.width;
  info.height = box.height;
  info.scrolls = undefined;
  const look = lookOf(element);
  info.style = cb.styleOf(element);
  info.cursor = look.cursor;
  info.shows = look.display !== "none" && cb.shows(element);
  info.field = isField(tag) ? fieldOf(element, tag) : undefined;
  info.hosts = isHost(tag) && !!cb.shadowOf(element);
  const names = cb.attributeNames(element);
  const stated = names.includes("role");
  const segment = stated || names.includes("id") ? segmentOf(element) : tag.slice(0, 40);
  const whole = parent?.path ? `${parent.path}>${segment}` : segment;
  info.path = whole.length > 300 ? whole.slice(whole.indexOf(">", whole.length - 260) + 1) : whole;
  info.reason = "";
  info.role = "generic";
  info.speaks = "";
  info.control = tag === "label" ? cb.control(element) : null;
  info.asks = false;
  info.activation = undefined;
  info.structure = parent ? parent.structure + (isPlainRole(parent.role) || parent.kind !== WALKED ? 0 : 1) : 0;
  if (info.kind === OWNER) return;
  if (look.display === "none") {
    // A hidden file input or check box may be worked through its label.
    info.kind = CLOSED;
    if (tag === "input") {
      const type = typeOf(element);
      if (type === "checkbox" || type === "radio" || type === "file") {
        info.reason = "native";
        info.role = roleOf(element);
      }
    }
    return;
  }
  if (
    names.includes("inert") ||
    (names.includes("aria-hidden") && attr(element, "aria-hidden") === "true" && !cb.isFocusable(element))
  ) {
    info.kind = CLOSED;
    return;
  }
  const pointed = parent ? parent.points : false;
  info.reason = tag === "label" ? labelReason(element, pointed) : reasonOf(element, tag, pointed);
  info.points = (pointed && look.cursor === "pointer") || info.reason !== "" || look.cursor === "pointer";
  info.role = stated || (tag !== "div" && tag !== "span") ? roleOf(element) : "generic";
  info.asks = asks(info.role, names);
  const speaks = names.includes("aria-live") ? attr(element, "aria-live") : "";
  if (info.role === "alert" || info.role === "status" || info.role === "log") info.speaks = info.role;
  else if (speaks === "assertive") info.speaks = "alert";
  else if (speaks === "polite") info.speaks = "status";
};
const PASSED_TAGS = new Set(["script", "style", "template", "head", "noscript", "option", "optgroup"]);
const isPlainRole = (role) => role === "generic" || role === "none" || role === "presentation";

/** The element through which a thing to act on is seen and used; null if there is none. */
const offerOf = (info) => {
  // A control that is used through its label depends on what that looks like.
  if (info.offer !== undefined && info.offer !== null && info.offer !== info.element) info.offer = undefined;
  if (info.offer === null && info.tag === "input") info.offer = undefined;
  if (info.offer === undefined) {
    const { element } = info;
    const stand = cb.standInOf(element);
    info.offer =
      !stand || cb.isAriaHidden(element) || (info.reason === "tabindex" && isMereScroller(element)) ? null : stand;
  }
  return info.offer;
};
/** Whether what lies beyond the view counts: its own box decides, without the stricter looks. */
const isCountable = (info) =>
  (info.countable ??=
    cb.isVisible(info.element) && !cb.isOffPage(info.element, info) && !cb.isAriaHidden(info.element));
/** Whether the keyboard reaches what nobody sees: a skip link, a native control of one pixel behind a drawn one. */
const isForKeys = ({ element, shows }) =>
  // Opacity hides nothing from the keyboard.
  (shows || cb.isVisible(element)) &&
  cb.isFocusable(element) &&
  !(Number.parseInt(attr(element, "tabindex") ?? "0", 10) < 0) &&
  !cb.isAriaHidden(element);
const consider = (run, info, cssShifted) => {
  const { element } = info;
  const near = run.near;
  if (near && info.width > 2 && info.height > 2 && !touches(info, near)) {
    if (isCountable(info)) {
      run.candidates++;
      run.offView++;
    } else if (isForKeys(info)) run.keyboard++;
    if (cssShifted) info.row = null;
    return;
  }
  const stand = offerOf(info);
  if (!stand) {
    if (isForKeys(info)) run.keyboard++;
    return;
  }
  run.candidates++;
  const box = stand === element ? info : cb.boxOf(stand);
  if (near && !touches(box, near)) {
    run.offView++;
    if (cssShifted) info.row = null;
    return;
  }
  if (run.entries.length >= run.options.candidates) {
    run.beyond++;
    if (cssShifted) info.row = null;
    return;
  }
  const activation = activationOf(run, info);
  const asked = askedAround(run, info);
  const beyond = `${activation.key} ${asked}`;
  if (
    !info.row ||
    info.rowBeyond !== beyond ||
    info.rowLine !== (info.line?.key ?? "") ||
    (info.rowTitle !== null && info.rowTitle !== run.title) ||
    info.rowContext !== info.contextVersion ||
    info.rowStand !== stand
  ) {
    info.row = { ...rowOf(run, info, stand), activation: activation.said, surroundings: asked };
    info.rowBeyond = beyond;
    info.rowLine = info.line?.key ?? "";
    info.rowContext = info.contextVersion;
    info.rowStand = stand;
    info.builtIn = memory.walks;
    info.json = "";
  } else if (cssShifted) {
    const css = cssOf(element, run);
    if (css !== info.row.css) {
      info.row.css = css;
      info.json = "";
    }
  }
  const entry = {
    info,
    row: info.row,
    box: { x: box.x, y: box.y, width: box.width, height: box.height },
    owner: info.parent ? info.parent.within : -1,
    inView: false,
    cover: undefined,
    /** What stands at the middle of the part in view. */
    hit: null,
    scroller: stand === element ? (info.parent?.scroller ?? "") : scrollerOf(stand),
    destination: undefined,
  };
  info.within = run.entries.push(entry) - 1;
  const { view } = run;
  if (touches(box, view)) {
    const shown = cb.intersect(cb.clippedBox(stand), view);
    if (shown.width > 0 && shown.height > 0) {
      entry.inView = true;
      ({ cover: entry.cover, hit: entry.hit } = occlusionOf(element, stand, shown));
    }
  }
  if (!entry.inView && run.modal && !cb.contains(run.modal, element))
    entry.cover = { ratio: 1, by: describe(run.modal) };
};
const scrollerOf = (stand) => {
  const scroller = cb.scrollerOf(stand);
  return scroller ? describe(scroller) : "";
};
const isPageScroller = (element) => element === cb.rootElement() || element === cb.bodyElement();

const headingOf = (info) => {
  if (info.heading === undefined) {
    const text = shortText(cb.nameOf(info.element) || textHead(info.element), 200);
    info.heading = text && cb.isLegible(info.element) ? { level: cb.statesOf(info.element).level ?? 2, text } : null;
  }
  return info.heading;
};
const landmarkOf = (info) => {
  const { element, tag, role } = info;
  const counts = LANDMARKS.has(role) || tag === "form" || (role === "list" && itemsOf(element) >= 3);
  return counts && cb.isVisible(element) ? summaryOf(element, tag, role) : "";
};
/** Whether an element scrolls, and holds more than it shows. */
const isScroller = (info) => {
  const { element, tag } = info;
  if (tag !== "textarea" && (!info.kids?.length || isPageScroller(element))) return false;
  return (info.scrolls ??= lookOf(element).scrolls) && cb.overflows(element);
};
const notePane = (run, element) => {
  const { x, y } = cb.scrolledTo(element);
  if (memory.panes.length < LIMITS.panes) memory.panes.push({ element, x, y });
  if ((x || y) && run.scrolled.length < LIMITS.scrolled) run.scrolled.push({ container: describe(element), x, y });
};
/** What a pane in view has beyond each of its edges. */
const showPane = (run, info) => {
  if (run.panes.length >= LIMITS.shownPanes || !touches(info, run.view) || !cb.isVisible(info.element)) return;
  const { element } = info;
  const { x, y } = cb.scrolledTo(element);
  const beyond = (whole, view, from) => Math.max(0, Math.round(whole - view - Math.abs(from)));
  const [above, left] = [Math.abs(y), Math.abs(x)];
  const below = beyond(cb.scrollHeight(element), cb.clientHeight(element), y);
  const right = beyond(cb.scrollWidth(element), cb.clientWidth(element), x);
  const sides = x < 0 ? { left: right, right: left } : { left, right };
  run.panes.push({ container: info.scroller, above, below, ...sides });
};
const visit = (run, info) => {
  const { element, tag, parent } = info;
  info.within = parent ? parent.within : -1;
  const cssShifted = info.shifts || (parent !== null && parent.placeShifted);
  info.shifts = false;
  info.placeShifted = cssShifted;
  if (!info.fresh) refresh(run, info);
  info.asking = info.asks ? info : parent ? parent.asking : null;
  if (info.testId) run.testIds.set(info.testId, (run.testIds.get(info.testId) ?? 0) + 1);
  const crown = parent && info.index > 0 ? crownOf(parent.kids[info.index - 1]) : null;
  if (crown) parent.lineWithin = cb.crowned(parent.lineWithin, crown);
  info.line = info.lineWithin = parent ? parent.lineWithin : null;
  if (info.kind === PASSED) return;
  if (info.place === undefined && info.placeKnown !== null) {
    const key = placeKey(placeKept(info));
    if (key !== info.placeKnown) {
      info.placeVersion = ++memory.versions;
      info.placeKnown = key;
    }
  }
  info.contextVersion = parent ? Math.max(parent.contextVersion, parent.placeVersion) : 0;
  const clipMoved = parent !== null && parent.clipMoved;
  if (clipMoved || run.extents === "other") info.offer = info.countable = undefined;
  else if (run.extents === "wider") {
    if (!info.offer) info.offer = undefined;
    if (!info.countable) info.countable = undefined;
  }
  info.clipMoved = clipMoved || (info.moved && info.kids !== null && info.kids.length > 0 && lookOf(element).clips);
  info.moved = false;
  if (info.kind === OWNER) {
    const owner = cb.ownerBox(element);
    if (cssShifted || info.css === undefined) info.css = cssOf(element, run) ?? "";
    if (owner)
      run.owners[(info.id ||= cb.idOf(element))] = {
        ...owner,
        css: info.css || undefined,
        name: shortText(attr(element, "title") || attr(element, "name") || attr(element, "aria-label") || "", 200),
      };
    return;
  }
  if (info.reason) consider(run, info, cssShifted);
  if (info.tag === "textarea" && isScroller(info)) notePane(run, element);
  if (info.kind === CLOSED) return;
  if (info.role === "dialog" || info.role === "alertdialog") info.lineWithin = null;
  if (info.role === "heading") {
    const heading = headingOf(info);
    if (heading && run.headings.length < LIMITS.headings) run.headings.push(heading);
  } else if (run.landmarks.length < LIMITS.landmarks) {
    info.summary ??= landmarkOf(info);
    if (info.summary) run.landmarks.push(info.summary);
  }
  if (info.speaks && run.live.length < LIMITS.live) {
    info.live ??= cb.isLegible(element) ? shortText(ownText(element, 300), 300) : "";
    if (info.live) run.live.push({ kind: info.speaks, text: info.live });
  }
  if (info.reason && run.live.length < LIMITS.live) {
    info.error ??= attr(element, "aria-invalid") ? cut(cb.errorMessageOf(element), 300) : "";
    if (info.error) run.live.push({ kind: "error", text: info.error });
  }
  if (info.hosts) watch(cb.shadowOf(element));
  else if (
    run.suspects.length < LIMITS.suspects &&
    isHost(tag) &&
    !examined.has(element) &&
    (tag.includes("-") || (HOSTABLE.has(tag) && !cb.firstChild(element)))
  ) {
    if (info.shows && (tag.includes("-") || info.height > 0)) run.suspects.push((info.id ||= cb.idOf(element)));
  }
  if (!info.kids) list(info);
  info.scroller = parent ? parent.scroller : "";
  if (tag !== "textarea" && isScroller(info)) {
    info.scroller = describe(element);
    notePane(run, element);
    showPane(run, info);
  }
};

export const walkOver = (options, began) => {
  memory.walks++;
  memory.panes = [];
  if (memory.everything || !memory.order) {
    forgetAll();
    overflow();
    memory.roots = [];
    memory.everything = false;
    watch(document);
  }
  memory.epoch++;
  const width = globalThis.innerWidth;
  const height = globalThis.innerHeight;
  let tested = null;
  const run = {
    options,
    formFacts: new Map(),
    dialogs: new Map(),
    entries: [],
    owners: {},
    headings: [],
    landmarks: [],
    scrolled: [],
    panes: [],
    live: [],
    suspects: [],
    secrets: [],
    testIds: new Map(),
    ordinals: new Map(),
    selectors: new Map(),
    title: cb.title(document),
    modal: topModal(),
    candidates: 0,
    beyond: 0,
    offView: 0,
    keyboard: 0,
    extents: memory.extents,
    view: { x: 0, y: 0, width, height },
    near: options.scope === "view" ? { x: -width / 2, y: -height / 2, width: width * 2, height: height * 2 } : null,
    tested: (element) => {
      if (!tested) {
        const selector = options.testIds.map((name) => `[${name}]`).join(",") || "[]";
        try {
          tested = new Set(memory.roots.flatMap((root) => Array.from(cb.queryAll(root, selector))));
        } catch {
          tested = { has: () => true };
        }
      }
      return tested.has(element) || (memory.roots.length > 1 && cb.nodeType(cb.rootNode(element)) === 11);
    },
  };
  const visited = [];
  let unwalked = 0;
  let stopped = false;
  const root = cb.rootElement();
  const stack = [];
  if (root) {
    let info = memory.infos.get(root);
    if (!info) memory.infos.set(root, (info = new Info(root, null)));
    stack.push(info);
  }
  // An explicit stack: a hostile page nests deeper than the stack allows.
  while (stack.length) {
    const info = stack.pop();
    if (stopped || visited.length >= options.elements || info.level > options.depth) {
      unwalked++;
      continue;
    }
    if ((visited.length & TIME_CHECK) === TIME_CHECK && performance.now() - began > options.budget) {
      stopped = true;
      unwalked++;
      continue;
    }
    visited.push(info);
    visit(run, info);
    if (info.kind === WALKED) for (let i = info.kids.length - 1; i >= 0; i--) stack.push(info.kids[i]);
  }
  // What stands in what was not walked counts too.
  if (unwalked) unwalked = Math.max(unwalked, cb.queryAll(document, "*").length - visited.length);
  memory.order = visited;
  memory.roots = memory.roots.filter((root) => root === document || cb.isConnected(root));
  memory.surroundings = readSurroundings();
  memory.extents = "same";
  memory.epoch++;
  return { run, unwalked };
};
