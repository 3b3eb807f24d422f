// A demo and a Chromium for a test: started for it, ended with it, whatever happens in between.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import path from "node:path";

export const [program, packages] = process.argv.slice(2);
const { chromium } = createRequire(path.resolve(packages) + "/")("playwright-core");
export const pictures = path.join(packages, "pictures");
mkdirSync(pictures, { recursive: true });

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

/** Starts a command that prints a page's address; answers { address, began, said, end }. */
export function start(...command) {
  const began = Date.now();
  const child = spawn(program, command, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => { child.on("exit", (code) => resolve(code)); });
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (bytes) => {
      said += bytes;
      const address = /http:\/\/\S+/.exec(said)?.[0];
      if (address && said.endsWith("\n")) {
        resolve({ address, began, said, end: () => { child.kill("SIGINT"); return ended; } });
      }
    });
    ended.then((code) => reject(new Error(`it ended with ${code}`)));
  });
}

/** Opens a page that keeps whatever the console says. */
export async function withPage(options, use) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  try {
    const page = await (await browser.newContext(options)).newPage();
    page.said = [];
    page.on("console", (message) => page.said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => page.said.push(error.stack));
    page.on("request", (request) => {
      if (!/^(http|ws):\/\/127\.0\.0\.1[:/]|^data:/.test(request.url())) {
        page.said.push("asks elsewhere: " + request.url());
      }
    });
    return await use(page);
  } finally {
    await browser.close();
  }
}

/** Runs a test with a demo (or what `serve` says) and a page; nothing may have been said on the console at its end. */
export async function play({ demo = [], serve = null, look = false, ...options }, use) {
  const running = await (serve !== null ? start("serve", ...serve, "--port", "0", "--web", "0", "--headless")
    : start("demo", ...demo, "--port", "0", "--no-browser"));
  try {
    await withPage({ viewport: { width: 1440, height: 900 }, ...options }, async (page) => {
      await page.goto(look ? running.address.replace(/#.*/, "") : running.address);
      await page.waitForFunction(() => window.fairlead?.drawn > 0);
      await use(page, running);
      if (page.said.length > 0) {
        throw new Error("the console: " + page.said.join("\n"));
      }
    });
  } finally {
    const code = await running.end();
    if (code !== 0) {
      throw new Error(`it ended with ${code}`);
    }
  }
}

/** The newest frame and settings, as the page got them. */
export const frame = (page) => page.evaluate(() => window.fairlead.frame);

/** The first frame of which `test(frame, argument)` is true. */
export async function until(page, test, argument, seconds = 30) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
    const newest = await frame(page);
    if (newest !== null && test(newest, argument)) {
      return newest;
    }
    await page.waitForTimeout(40);
  }
  throw new Error(`not within ${seconds} s: ${test}`);
}

/** Drags a slider with the mouse from its beginning to a share of its length, notch by notch. */
export async function drag(page, label, share) {
  const slider = page.getByLabel(label);
  await slider.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await slider.boundingBox();
  await page.mouse.move(x + 8, y + height / 2);
  await page.mouse.down();
  for (let i = 1; i <= 20; i++) { // each notch is news of its own
    await page.mouse.move(x + 8 + (width * share - 8) * (i / 20), y + height / 2);
    await page.waitForTimeout(40);
  }
  await page.mouse.up();
}

/** Does the canvas show more than so many colours? An empty picture does not. */
export const isDrawn = (canvas, colours = 8) => canvas.evaluate((node, least) => {
  const copy = document.createElement("canvas");
  copy.width = 64;
  copy.height = 64;
  const context = copy.getContext("2d");
  context.drawImage(node, 0, 0, 64, 64);
  const { data } = context.getImageData(0, 0, 64, 64);
  return new Set(new Uint32Array(data.buffer)).size > least;
}, colours);
