// Playwright's side of `cargo xtask soak --drifts N --peers`: jobs by role and exact name, with its own waiting, in a
// browser that it launches itself. A context for each job.
//
// node bench/drift_playwright.mjs --modules DIR --chrome FILE --viewport WxH
import { createRequire } from "node:module";
import { createServer } from "node:net";
import path from "node:path";
import { readArguments, serve } from "./common.mjs";

/** The time of one of cuebook's steps, in milliseconds. */
const STEP = 10_000;

const options = readArguments(["modules", "chrome", "viewport"]);
const require = createRequire(path.join(path.resolve(options.modules), "/"));
const { chromium } = require("playwright-core");

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const port = await freePort();
// The port is for those who put the drift in; Playwright has a connection of its own.
const browser = await chromium.launch({
  executablePath: options.chrome,
  args: [`--remote-debugging-port=${port}`],
});
let page;

async function perform({ type, role, name, within, value, url }) {
  const area = within ? page.locator("tr, article").filter({ hasText: within }) : page;
  const target = area.getByRole(role, { name, exact: true });
  if (type === "click") await target.click();
  else if (type === "type" || type === "setValue") await target.fill(value);
  else if (type === "select") await target.selectOption(value);
  else if (type === "check") await target.check();
  else throw new Error(`no such step: ${type}`);
  if (url) await page.waitForURL((seen) => seen.href.includes(url));
}

try {
  await serve({
    about: () => ({ version: require("playwright-core/package.json").version, browser: browser.version() }),
    async begin() {
      page = await (await browser.newContext({ viewport: options.viewport })).newPage();
      page.setDefaultTimeout(STEP);
      return `http://127.0.0.1:${port}`;
    },
    async look({ url }) {
      await page.goto(url);
      // Not allInnerTexts: it reads as the page's own scripts do, for which texts are as they were.
      const shown = await page.locator("main").locator("h1, button").all();
      return Promise.all(shown.map((one) => one.innerText()));
    },
    async play({ url, steps }) {
      await page.goto(url);
      for (const step of steps) await perform(step);
    },
    end: () => page.context().close(),
  });
} finally {
  await browser.close();
}
