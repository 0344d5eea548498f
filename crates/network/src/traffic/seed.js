// @ts-check
// The same randomness and the same clock each time a document runs: what it makes of them is the same in a replay.
//
// A document's random numbers depend on its URL and the seed. Its clock stands still while a script runs, and moves
// with its own timers and frames: by what was waited for, not by how long that took.
(
  /** @param {number} seed @param {number} epoch milliseconds since 1970 */
  (seed, epoch) => {
    const scope = /** @type {any} */ (globalThis);
    if (scope.Date[Symbol.for("cuebook")]) return;
    const { apply, construct } = Reflect;

    let state = seed >>> 0;
    // Chromium 156 dies of a worker that reads its location before its script has loaded.
    const place = scope.document ? scope.location.href : "worker";
    for (const letter of place) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193);
    // Mulberry32.
    const next = () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return (mixed ^ (mixed >>> 14)) >>> 0;
    };
    /** @param {any} owner @param {string} name @param {any} value */
    const put = (owner, name, value) =>
      Object.defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: false });
    put(Math, "random", () => next() / 0x100000000);
    const filled = (/** @type {Uint8Array} */ bytes) => {
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
