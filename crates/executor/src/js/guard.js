// @ts-check
// Listeners that stand before the page's own, in every document from its start. They decide nothing:
// what a gesture may reach is decided by the handler that is set here later. Until there is one, a closed
// document takes no trusted input at all; an open one takes none that was sent before it was a second old: it
// may have come under the pointer in the middle of a gesture that was meant for the document before it.
(() => {
  // An element of that name is the page's.
  if (Object.hasOwn(globalThis, "__cuebookGuard")) return;
  const guard = { handle: null, born: performance.now(), closed: false };
  const stop = Event.prototype.stopImmediatePropagation;
  const prevent = Event.prototype.preventDefault;
  guard.block = (event) => {
    Reflect.apply(stop, event, []);
    Reflect.apply(prevent, event, []);
  };
  /** Clicks that the browser makes of a key, a label or a script; what they come from was judged itself. */
  guard.isMade = (event) => event.type === "click" && event.pointerType === "";
  /**
   * Input for a document that may have come in the middle of a gesture; what a busy page takes up late was sent
   * early.
   */
  guard.isForFormer = (event) => Math.min(performance.now(), event.timeStamp) - guard.born < 1000;
  const listen = (event) => {
    if (!event.isTrusted) return;
    if (guard.handle) guard.handle(event);
    else if (!passing.has(event.type) && !guard.isMade(event) && (guard.closed || guard.isForFormer(event)))
      guard.block(event);
  };
  const add = EventTarget.prototype.addEventListener;
  const options = { capture: true, passive: false };
  /** Moves are harmless; they only show that a gesture has begun. */
  const passing = new Set(["pointerover", "pointermove", "dragstart"]);
  guard.passing = passing;
  const types = [
    ...passing,
    "pointerdown",
    "pointerup",
    "mousedown",
    "mouseup",
    "click",
    "auxclick",
    "dblclick",
    "contextmenu",
    "drop",
    "touchstart",
    "touchend",
    "keydown",
    "keypress",
    "keyup",
    "beforeinput",
  ];
  /** Again is harmless; after `document.open()` it is necessary. */
  guard.listen = () => {
    for (const type of types) Reflect.apply(add, globalThis, [type, listen, options]);
  };
  guard.listen();
  // `document.open()` takes all listeners away, but not who watches for changes.
  new MutationObserver(guard.listen).observe(document, { childList: true });
  Object.defineProperty(globalThis, "__cuebookGuard", { value: guard });
})();
