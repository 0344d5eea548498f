// Opens pages in two widths, light and dark, with every step open, and prints a row for each page: what axe found, in
// how many of the four views the page is wider than its window, and how many requests it made, to its own server excepted. A
// page is a file, or the file that its pictures are named after and its address, as `live.html=http://…`. A picture of each
// view is left beside the page.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const [folder, executablePath, ...pages] = process.argv.slice(2);
const { chromium } = require(path.join(folder, "node_modules", "playwright"));
const axe = fs.readFileSync(path.join(folder, "node_modules", "axe-core", "axe.min.js"), "utf8");

const VIEWS = [1280, 390].flatMap((width) => ["light", "dark"].map((colorScheme) => ({ width, colorScheme })));
// A long run is looked at as it is and then with its first steps open: axe takes a second for each hundred elements.
const OPEN = 12;

const main = async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  for (const given of pages) {
    const [file, url = `file://${given}`] = given.split("=");
    const origin = new URL(url).origin;
    const name = path.basename(file, ".html");
    let [passed, violations, wide, requests] = [0, 0, 0, 0];
    for (const { width, colorScheme } of VIEWS) {
      // Axe is let in past the page's own policy, which would stop it.
      const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme, bypassCSP: true });
      const page = await context.newPage();
      page.on("request", (request) => {
        const isOwn = /^(?:file|data):/.test(request.url()) || new URL(request.url()).origin === origin;
        requests += isOwn ? 0 : 1;
      });
      await page.goto(url);
      await page.screenshot({ path: file.replace(/html$/, `${width}-${colorScheme}.png`) });
      await page.evaluate((most) => {
        const closed = [...document.querySelectorAll("details:not([open])")];
        for (const one of closed.slice(0, most)) one.open = true;
        for (const one of [...document.querySelectorAll(".panel")].slice(0, most)) one.hidden = false;
      }, OPEN);
      await page.screenshot({ path: file.replace(/html$/, `${width}-${colorScheme}-open.png`), fullPage: true });
      wide += await page.evaluate(() => Number(document.documentElement.scrollWidth > innerWidth));
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run());
      passed = Math.max(passed, found.passes.length);
      violations += found.violations.length;
      for (const one of found.violations)
        for (const node of one.nodes.slice(0, 3))
          console.error(`${name}, ${width} px, ${colorScheme}: ${one.id}: ${one.help}: ${node.html.slice(0, 200)}`);
      await context.close();
    }
    console.log(JSON.stringify([name, ...[passed, violations, wide, requests].map(String)]));
  }
  await browser.close();
};
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
