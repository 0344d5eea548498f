// Playwright MCP's side of `cargo xtask bench --forms`: the server with its defaults, over standard input and output as
// clients run it. A profile in memory, so that nothing is left of a round.
//
// node bench/forms_playwright_mcp.mjs --modules DIR --chrome FILE --url URL --form FILE --rounds N
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { Samples, expect, expectHeld, readArguments } from "./common.mjs";

const options = readArguments(["modules", "chrome", "url", "form", "rounds"]);
const modules = path.resolve(options.modules);
const require = createRequire(path.join(modules, "/"));
const program = path.join(path.dirname(require.resolve("@playwright/mcp/package.json")), "cli.js");
const flags = ["--headless", "--isolated", "--executable-path", options.chrome];
if (process.getuid?.() === 0) flags.push("--no-sandbox");
const form = JSON.parse(readFileSync(options.form, "utf8"));

/** Starts a server; `end` ends it and its browser. */
async function start() {
  // It writes its snapshots below its working directory.
  const child = spawn(process.execPath, [program, ...flags], { cwd: modules, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let calls = 0;
  const request = (method, params) =>
    new Promise((resolve) => {
      calls += 1;
      waiting.set(calls, resolve);
      send({ id: calls, method, params });
    });
  const clientInfo = { name: "cuebook-bench", version: "0" };
  await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  send({ method: "notifications/initialized" });
  return {
    async call(name, parameters = {}) {
      const { result, error } = await request("tools/call", { name, arguments: parameters });
      const text = result?.content?.map((part) => part.text ?? "").join("\n") ?? "";
      expect(result && !result.isError, `${name}: ${error?.message ?? text}`);
      return text;
    },
    async end() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

async function held(server) {
  const text = await server.call("browser_evaluate", { function: "() => held()" });
  return JSON.parse(JSON.parse(text.match(/### Result\n(.*)/)[1]));
}

const TYPES = { text: "textbox", date: "textbox", select: "combobox", check: "checkbox" };
const fields = (target) =>
  form.fields.map((field) => ({
    element: field.label, name: field.label, type: TYPES[field.kind], value: field.value, target: target(field),
  }));

function referenceOf(snapshot, name) {
  const [, reference] = snapshot.match(new RegExp(`"${name}".*?\\[ref=(\\w+)\\]`)) ?? [];
  expect(reference, `expected a reference of ${name}`);
  return reference;
}

/** The snapshot that an answer has or, as the defaults are, links to. */
async function shown(answer) {
  const [, file] = answer.match(/\[Snapshot\]\((.*?)\)/) ?? [];
  return file ? readFile(path.resolve(modules, file), "utf8") : answer;
}

const samples = new Samples();
for (let round = 0; round <= options.rounds; round += 1) {
  let began = performance.now();
  const server = await start();
  await server.call("browser_navigate", { url: options.url });
  await server.call("browser_fill_form", { fields: fields(({ name }) => `[name=${name}]`) });
  const filled = performance.now() - began;
  expectHeld(await held(server), form, 0);
  began = performance.now();
  await server.end();
  if (round > 0) samples.put("process", filled + performance.now() - began);
}

const server = await start();
try {
  for (let round = 0; round <= options.rounds; round += 1) {
    await server.call("browser_navigate", { url: options.url });
    const first = await server.call("browser_snapshot");
    const known = fields(({ label }) => referenceOf(first, label));
    await samples.time("form.look", round, async () => {
      await samples.time("form.fill", round, () => server.call("browser_fill_form", { fields: known }));
      return server.call("browser_snapshot");
    });
    expectHeld(await held(server), form, 0);
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    const seen = await samples.time("loop", round, async () => {
      const target = referenceOf(await server.call("browser_snapshot"), "Add a night");
      const answer = await samples.time("click", round, () =>
        server.call("browser_click", { element: "Add a night", target }),
      );
      return shown(answer);
    });
    expect(seen.includes(`${round + 2} nights`), `expected ${round + 2} nights in the snapshot after the click`);
  }
  expectHeld(await held(server), form, options.rounds + 1);
  samples.print();
} finally {
  await server.end();
}
