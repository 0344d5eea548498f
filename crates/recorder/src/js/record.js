// @ts-check
// What a person does in a document, reported as it happens: at the window and in the capture phase, so before the page
// answers, and only of events that the browser itself made.
import * as cb from "cuebook:core";
import { actedOn, described, send } from "./report.js";
import {
  fieldOf, finishOthers, isBox, isSaidByChange, labelledBy, mayTurn, namesIn, onChange, onInput, reach, takesLines,
  takesText,
} from "./fields.js";
import { look, onMove, onOver, onPress, revealersOf } from "./hover.js";

const on = (type, handle) =>
  cb.listen(
    globalThis,
    type,
    (event) => {
      if (!event.isTrusted) return;
      const [element] = event.composedPath();
      if (cb.isElement(element)) handle(event, element);
    },
    { capture: true, passive: true },
  );
const held = (event) => ["Alt", "Control", "Meta", "Shift"].filter((name) => event.getModifierState(name));

// ------------------------------------------------------------------------------------------ pointer

const FAR = 8;
let pressed = null;
/** A gesture was a drag, so that the click that ends it is none. */
let wasDragged = false;
let dragged = null;

const NEAR = 6;
const MOST_PLACES = 50;
const ITEM = "li,tr,[role=listitem],[role=option],[role=row],[role=treeitem],[role=tab]";
/** The items beside the one around an element that a pointer may sort, and where they are before anything is moved. */
const placesOf = (element) => {
  const around = [];
  for (let at = element; at && around.length < NEAR; at = cb.composedParentOf(at)) around.push(at);
  const isGrabbed = /grab|move/.test(cb.styleOf(element).cursor);
  // A page that takes the gestures of a finger away from the browser has its own.
  if (!isGrabbed && !around.some((at) => cb.styleOf(at).touchAction === "none")) return [];
  for (const at of around) {
    const parent = cb.composedParentOf(at);
    if (!parent || !(isGrabbed || cb.matches(at, ITEM))) continue;
    const beside = cb.childrenOf(parent).filter((one) => one !== at && cb.isElement(one) && cb.tagOf(one) === cb.tagOf(at));
    if (beside.length > 0)
      return beside.slice(0, MOST_PLACES).map((one) => ({ seen: described(one), box: one.getBoundingClientRect() }));
  }
  return [];
};

on("pointerover", (event, element) => event.pointerType === "mouse" && onOver(event, element));
on("pointermove", onMove);
on("pointerdown", (event, element) => {
  finishOthers(element);
  reach(element);
  wasDragged = false;
  const { clientX: x, clientY: y } = event;
  pressed = { element, target: described(element), x, y, events: [event], places: placesOf(element) };
  const hovers = event.pointerType === "mouse" ? revealersOf(element) : [];
  onPress(event);
  send({ what: "down", hovers });
});
on("mousedown", (event) => pressed?.events.push(event));
on("pointerup", (event) => {
  if (!pressed || dragged) return;
  const { element, target, x, y, events, places } = pressed;
  if (Math.hypot(event.clientX - x, event.clientY - y) < FAR || fieldOf(element)) return;
  // A list may be sorted while the pointer is on its way: what counts is whose place this was.
  const isAt = ({ box }) =>
    event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  const taken = places.find(isAt);
  // A text that is selected is not dragged.
  const isGrabbed =
    taken ||
    events.some((one) => one.defaultPrevented) ||
    /grab|move|resize/.test(cb.styleOf(element).cursor);
  if (!isGrabbed) return;
  const under = document
    .elementsFromPoint(event.clientX, event.clientY)
    .find((one) => !cb.contains(element, one) && !cb.contains(actedOn(element) ?? element, one));
  wasDragged = true;
  const to = taken?.seen ?? (under && described(under));
  if (to) send({ what: "drag", from: target, to });
});
const clicked = (event, element, button) => {
  const target = pressed && event.detail > 0 ? pressed.target : described(element);
  send({ what: "click", target, button, held: held(event) });
};
on("click", (event, element) => {
  if (wasDragged && event.detail > 0) return;
  // Enter in a field presses the button of its form.
  if (event.detail === 0 && key && key.element !== element && !cb.contains(element, key.element)) {
    const box = labelledBy(element);
    if (!box && !isBox(element)) return;
  }
  const box = isBox(element) ? element : labelledBy(element);
  if (box && isBox(box)) return mayTurn(box);
  // The press on a label goes on to its control.
  if (box && box !== element && !cb.contains(box, element) && actedOn(element) === cb.closest(element, "label")) return;
  if (isSaidByChange(element)) return;
  clicked(event, element, "left");
});
on("dblclick", (_event, element) => send({ what: "double", target: described(element) }));
on("auxclick", (event, element) => event.button === 1 && clicked(event, element, "middle"));
on("contextmenu", (event, element) => event.button === 2 && clicked(event, element, "right"));
on("dragstart", (_event, element) => (dragged = described(element)));
on("dragend", () => (dragged = null));
on("drop", (event, element) => {
  const names = namesIn(event.dataTransfer?.files);
  if (names.length) send({ what: "files", target: described(element), names });
  else if (dragged && !fieldOf(element)) send({ what: "drag", from: dragged, to: described(element) });
});

// ------------------------------------------------------------------------------------------ keys

const ALONE = new Set(
  "Alt AltGraph CapsLock Control Dead Fn Hyper Meta NumLock Process ScrollLock Shift Super Tab Unidentified".split(" "),
);
const MOVES = new Set("ArrowDown ArrowLeft ArrowRight ArrowUp End Home PageDown PageUp".split(" "));
/** The last key that went down, until what it does is over. */
let key = null;
const OVER = 300;
const activates = (element) =>
  ["button", "summary"].includes(cb.tagOf(element)) ||
  cb.matches(element, "a[href],area[href],input[type=submit],input[type=button],input[type=reset],input[type=image]");

on("keydown", (event, element) => {
  reach(element);
  const here = (key = { element });
  setTimeout(() => {
    if (key === here) key = null;
  }, OVER);
  if (event.isComposing || ALONE.has(event.key)) return;
  const field = fieldOf(element);
  const isText = !!field && takesText(field);
  const chord = held(event).filter((name) => name !== "Shift" || event.key.length > 1);
  const isCommand = chord.some((name) => name !== "Shift");
  const target = described(element);
  const press = () => send({ what: "press", target, keys: [...chord, event.key === " " ? "Space" : event.key].join("+") });
  /** Reports the key if the page took it: what the browser does with it otherwise is no step. */
  const pressIfTaken = () => setTimeout(() => event.defaultPrevented && press(), 0);
  // Their clicks say what the keys do.
  if (field && isBox(field) && (event.key === " " || MOVES.has(event.key))) return;
  if (isCommand) return void pressIfTaken();
  if (event.key === "Enter") {
    if (field && takesLines(field)) return void pressIfTaken();
    if (activates(element)) return;
    finishOthers(null);
    return press();
  }
  if (event.key === "Escape") return press();
  if (MOVES.has(event.key)) {
    if (isText && !cb.matches(field, "[role=combobox],[aria-autocomplete],[list]")) return void pressIfTaken();
    if (field && !isText) return;
    return press();
  }
  if (isText || (event.key === " " && activates(element))) return;
  pressIfTaken();
});
// ------------------------------------------------------------------------------------------ values

for (const type of ["paste", "cut", "compositionstart", "drop"]) on(type, (_event, element) => reach(element));
on("input", (_event, element) => onInput(element));
on("change", (_event, element) => {
  finishOthers(null);
  onChange(element);
});
on("focusout", () => finishOthers(null));
on("submit", () => finishOthers(null));
cb.listen(globalThis, "pagehide", () => finishOthers(null), { capture: true });

// ------------------------------------------------------------------------------------------ changes

const PAUSE = 150;
let isTold = false;
const change = () => {
  if (isTold) return;
  isTold = true;
  setTimeout(() => {
    isTold = false;
    look();
    send({ what: "changed" });
  }, PAUSE);
};
new MutationObserver(change).observe(document, {
  subtree: true,
  childList: true,
  characterData: true,
  attributes: true,
});
for (const type of ["DOMContentLoaded", "load"]) cb.listen(globalThis, type, change, { capture: true });
change();

/** What the wire may ask. */
export const record = {
  hello: () => {
    send({ what: "hello" });
    return true;
  },
};
record.hello();
