// @ts-check
// The same randomness and the same clock each time a document runs: what it makes of them is the same in a replay.
//
// A document's random numbers depend on its URL, the seed, and the calls that led to them: how often a script polls, or
// draws, changes nothing for the others. Its clock stands still while a script runs, and moves
// with its own timers and frames: by what was waited for, not by how long that took.
(
  /** @param {number} seed @param {number} epoch milliseconds since 1970 */
  (seed, epoch) => {
    const scope = /** @type {any} */ (globalThis);
    if (scope.Date[Symbol.for("cuebook")]) return;
    const { apply, construct, set } = Reflect;
    const { get: getFrom, set: putInto } = Map.prototype;
    const { charCodeAt, replace } = String.prototype;

    const hashed = (/** @type {number} */ start, /** @type {string} */ text) => {
      let state = start;
      for (let at = 0; at < text.length; at++) state = Math.imul(state ^ apply(charCodeAt, text, [at]), 0x01000193);
      return state;
    };
    // Chromium 156 dies of a worker that reads its location before its script has loaded.
    const place = hashed(seed >>> 0, scope.document ? scope.location.href : "worker");
    const NativeError = scope.Error;
    /** Reading a stack takes some microseconds; a script that draws more often than this shares one stream. */
    let stacks = 20_000;
    /** The calls that led here; addresses that the browser makes up are left out. */
    const callers = () => {
      // A page's own way to write a stack is the page's code.
      if (stacks <= 0 || typeof NativeError.prepareStackTrace === "function") return "";
      stacks--;
      const limit = NativeError.stackTraceLimit;
      set(NativeError, "stackTraceLimit", 12);
      const { stack } = new NativeError();
      set(NativeError, "stackTraceLimit", limit);
      return typeof stack === "string" ? apply(replace, stack, [/blob:[^\s)]*/g, "blob:"]) : "";
    };
    /** @type {Map<string, () => number>} */
    const streams = new Map();
    // Mulberry32.
    const newStream = (/** @type {number} */ start) => {
      let state = start;
      return () => {
        state = (state + 0x6d2b79f5) | 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return (mixed ^ (mixed >>> 14)) >>> 0;
      };
    };
    /** The stream of whoever asks: a caller that asks again gets the next numbers of its own. */
    const stream = () => {
      const key = callers();
      let next = apply(getFrom, streams, [key]);
      if (!next) apply(putInto, streams, [key, (next = newStream(hashed(place, key)))]);
      return next;
    };
    /** @param {any} owner @param {string} name @param {any} value */
    const put = (owner, name, value) =>
      Object.defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: false });
    put(Math, "random", () => stream()() / 0x100000000);
    const filled = (/** @type {Uint8Array} */ bytes) => {
      const next = stream();
      for (let at = 0; at < bytes.length; at++) bytes[at] = next() & 0xff;
      return bytes;
    };
    if (scope.Crypto) {
      const { getRandomValues } = Crypto.prototype;
      put(Crypto.prototype, "getRandomValues", function (/** @type {any} */ array) {
        apply(getRandomValues, this, [array]);
        filled(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
        return array;
      });
      put(Crypto.prototype, "randomUUID", () => {
        const bytes = filled(new Uint8Array(16));
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
        return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
      });
    }

    let passed = 0;
    let reads = 0;
    const moveTo = (/** @type {number} */ time) => {
      passed = Math.max(passed, time);
      reads = 0;
    };
    // A script that waits by reading the clock must come to an end.
    const elapsed = () => (++reads > 10_000 ? ++passed : passed);
    const NativeDate = Date;
    const now = () => Math.floor(epoch + elapsed());
    const SeededDate = new Proxy(NativeDate, {
      construct: (target, args, made) =>
        construct(target, args.length ? args : [now()], made === SeededDate ? target : made),
      apply: () => new NativeDate(now()).toString(),
    });
    put(NativeDate, "now", now);
    put(NativeDate.prototype, "constructor", SeededDate);
    put(scope, "Date", SeededDate);
    Object.defineProperty(NativeDate, Symbol.for("cuebook"), { value: true });
    put(Performance.prototype, "now", elapsed);
    Object.defineProperty(Performance.prototype, "timeOrigin", { get: () => epoch, configurable: true });

    for (const name of ["setTimeout", "setInterval"]) {
      const native = scope[name];
      put(scope, name, (/** @type {any} */ handler, /** @type {any} */ delay, /** @type {any[]} */ ...args) => {
        if (typeof handler !== "function") return apply(native, scope, [handler, delay, ...args]);
        const wait = Math.max(0, Number(delay) || 0);
        let due = passed + wait;
        const run = (/** @type {any[]} */ ...given) => {
          moveTo(due);
          due = passed + wait;
          return apply(handler, scope, given);
        };
        return apply(native, scope, [run, delay, ...args]);
      });
    }
    if (scope.requestAnimationFrame) {
      const native = scope.requestAnimationFrame;
      let frame = 0;
      put(scope, "requestAnimationFrame", (/** @type {any} */ handler) =>
        apply(native, scope, [
          (/** @type {number} */ time) => {
            if (time !== frame) moveTo(passed + 1000 / 60);
            frame = time;
            return apply(handler, scope, [passed]);
          },
        ]),
      );
    }
  }
)
