// The page of a real session in a real Chromium: node test_session.mjs PROGRAM FOLDER_WITH_NODE_MODULES
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import test from "node:test";

import { frame, isDrawn, pictures, play, program, start, until, withPage } from "./browser.mjs";

const invite = (running) => /join (\S+)/.exec(running.said)[1];
const seen = (news, count) => news.things.length >= 6 * count && news.peers.some((peer) => peer.pairs > 0);

test("a served game is shown with all who play: things, peers, charts; the policy can be changed", async () => {
  await play({ serve: ["tanks", "--bots", "2"] }, async (page, running) => {
    const guests = await start("bots", invite(running), "--count", "2", "--headless", "--web", "0");
    try {
      await until(page, seen, 4);
      assert.ok(await isDrawn(page.locator(".screen canvas")));
      assert.match(await page.locator("#subject").innerText(), /session of tanks/);
      await until(page, (news, t) => news.t > t + 1500, (await frame(page)).t);
      assert.equal(await page.locator(".peers tbody tr").count(), 2);
      assert.match(await page.locator(".peers tbody tr").first().innerText(), /ms.*kbit/s);
      const chart = page.locator(".chart").first();
      const before = await chart.screenshot();
      await page.getByLabel("Policy").selectOption("equal-50");
      await page.waitForFunction(() => window.fairlead.settings?.policy.startsWith("equal"));
      await page.screenshot({ path: path.join(pictures, "session-tanks.png"), fullPage: true });
      assert.notDeepEqual(await chart.screenshot(), before);
    } finally {
      assert.equal(await guests.end(), 0);
    }
  });
});

test("a program of one's own needs little to be shown", async () => {
  const show = spawn(program, ["page", "--port", "0"], { stdio: ["pipe", "ignore", "pipe"] });
  const address = await new Promise((resolve) => {
    let said = "";
    show.stderr.on("data", (bytes) => {
      said += bytes;
      if (said.includes("\n")) {
        resolve(/http:\/\/\S+/.exec(said)[0]);
      }
    });
  });
  let t = 0;
  show.stdin.write('{"type":"hello"}\n');
  const clock = setInterval(() => {
    t += 50;
    const peers = t < 500 ? "" : ',"peers":[{"number":1,"sent":5,"bytes_out":7,"bytes_in":8,"pairs":1,"aee":0.5}]';
    show.stdin.write(`{"type":"frame","t":${t},"things":[7,0,${10 * t},${5 * t},300,2]${peers}}\n`);
  }, 50);
  try {
    await withPage({ viewport: { width: 1000, height: 800 } }, async (page) => {
      await page.goto(address);
      await page.waitForFunction(() => window.fairlead?.drawn > 0);
      await until(page, (news) => news.t > 1000 && news.peers.length === 1);
      await page.waitForTimeout(400);
      assert.equal(await page.locator(".peers tbody tr").count(), 1);
      assert.ok(await isDrawn(page.locator(".screen canvas"), 2));
      assert.deepEqual(page.said, []);
    });
  } finally {
    clearInterval(clock);
    show.stdin.end();
    await new Promise((resolve) => { show.on("exit", resolve); });
  }
});

test("a race is shown on its course, on a phone too; who has no token changes nothing", async () => {
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, colorScheme: "dark" };
  await play({ serve: ["racing", "--bots", "3"], look: true, ...phone }, async (page) => {
    await until(page, (news) => news.things.length >= 18);
    assert.ok(await isDrawn(page.locator(".screen canvas")));
    assert.ok(await page.getByLabel("Policy").isDisabled());
    assert.match(await page.locator("#status").innerText(), /looking on/);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, "nothing sticks out at the side");
    await page.screenshot({ path: path.join(pictures, "session-racing.png"), fullPage: true });
  });
});
