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
      assert.match(await page.locator(".peers thead").innerText(), /ms.*kbit\/s/s);
      assert.match(await page.locator(".peers tbody tr").first().innerText(), /^\d+\s+[\d.]+\s/);
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
    const peers = t < 500 ? "" : ',"peers":[{"number":127,"direct":false,"loss":1,"sent":'
      + `${50 * t},"bytes_out":${9000 * t},"bytes_in":${9000 * t},"pairs":4096,"aee":12345.67}]`;
    show.stdin.write(`{"type":"frame","t":${t},"things":[7,0,${10 * t},${5 * t},300,2]${peers}}\n`);
  }, 50);
  try {
    await withPage({ viewport: { width: 1000, height: 800 } }, async (page) => {
      await page.goto(address);
      await page.waitForFunction(() => window.fairlead?.drawn > 0);
      await until(page, (news) => news.t > 1000 && news.peers.length === 1);
      const empty = page.locator(".chart .empty");
      await empty.nth(2).waitFor({ state: "hidden" }); // rates need a second
      assert.equal(await empty.nth(1).innerText(), "no data yet"); // it tells of no round trip
      assert.equal(await page.locator(".peers tbody tr").count(), 1);
      assert.ok(await page.locator(".controls").isHidden(), "there is nothing to set");
      for (const width of [1440, 1270, 1160, 1000, 700, 390]) {
        await page.setViewportSize({ width, height: 800 });
        const hidden = await page.locator(".peers").evaluate((node) => node.scrollWidth - node.clientWidth);
        assert.ok(hidden <= 0, `${hidden} pixels of the table are cut off at ${width}`);
      }
      assert.deepEqual(await page.evaluate(async () => {
        const { spanOf } = await import("./charts.js");
        return [spanOf(null, null, false), spanOf(0, 0, true), spanOf(-2, 4, true), spanOf(2, 4, false)];
      }), [[0, 1], [-1, 1], [1.08 * -2, 1.08 * 4], [0, 1.08 * 4]]);
      clearInterval(clock);
      await page.setViewportSize({ width: 800, height: 700 });
      await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
      assert.ok(await isDrawn(page.locator(".screen canvas"), 2), "another size empties no picture, though no frame comes");
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
