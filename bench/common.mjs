// What the scripts need: arguments, samples and the one JSON document that they print, calls by lines of JSON.
import { createInterface } from "node:readline";

/** Twenty characters. */
export const TYPED = "the quick brown fox.";

/** Changes one button of the page, as cuebook's side does. */
export const change = (round) =>
  `void (document.querySelectorAll('button')[1].textContent = 'Changed ${round}')`;

/** `--name value` pairs; every name is required. */
export function readArguments(names) {
  const words = process.argv.slice(2);
  const read = Object.fromEntries(names.map((name) => [name, words[words.indexOf(`--${name}`) + 1]]));
  for (const name of names) {
    if (!words.includes(`--${name}`) || read[name] === undefined) {
      throw new Error(`expected --${name}`);
    }
  }
  const [width, height] = read.viewport?.split("x").map(Number) ?? [];
  return { ...read, rounds: Number(read.rounds), viewport: { width, height } };
}

/** Samples by metric, each in its own unit; times in milliseconds. */
export class Samples {
  #metrics = new Map();

  /** Times `work`. Round 0 warms up and does not count. */
  async time(metric, round, work) {
    const began = performance.now();
    const result = await work();
    const took = performance.now() - began;
    if (round > 0) this.put(metric, took);
    return result;
  }

  /** Adds a number. */
  put(metric, number) {
    this.#metrics.set(metric, [...(this.#metrics.get(metric) ?? []), number]);
  }

  print() {
    const spread = (samples) => {
      const sorted = samples.toSorted((a, b) => a - b);
      const middle = sorted.length / 2;
      const median =
        sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
      return { median, min: sorted[0], max: sorted.at(-1), n: sorted.length };
    };
    const metrics = [...this.#metrics].map(([metric, samples]) => [metric, spread(samples)]);
    console.log(JSON.stringify(Object.fromEntries(metrics)));
  }
}

/** Fails loudly: a number that measures the wrong thing is worse than none. */
export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

/** Fails unless the page of form.html holds the values of form.json, and its button was clicked so often. */
export function expectHeld(held, form, clicks) {
  const expected = Object.fromEntries(form.fields.map(({ name, kind, value }) => [name, kind === "check" ? "on" : value]));
  for (const [name, value] of Object.entries({ ...expected, nights: clicks + 1 })) {
    expect(held[name] === value, `expected ${name} to be ${value}, saw ${held[name]}`);
  }
}

/** How many clicks on the grid's buttons the site's server has counted. */
export async function countedClicks(url) {
  const state = await fetch(new URL("/state", url)).then((answer) => answer.json());
  return state.hits?.["grid.button"] ?? 0;
}

/**
 * Answers each line of JSON on standard input, `{"call": name, …}`, with one line on standard output:
 * `{"result": …}`, or `{"error": text}` if the call throws.
 */
export async function serve(calls) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { call, ...parameters } = JSON.parse(line);
    let answer;
    try {
      answer = { result: (await calls[call](parameters)) ?? null };
    } catch (error) {
      // Without the colours of a terminal.
      answer = { error: error.message.replace(/\u001b\[\d*m/g, "") };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}
