// The tanks demo in a real Chromium: node test_tanks.mjs PROGRAM FOLDER_WITH_NODE_MODULES
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

import { drag, frame, isDrawn, pictures, play, until } from "./browser.mjs";

const allSee = (news) => news.receivers.every((r) => r.sees && r.aee > 0);
const errors = (news) => news.receivers.map((r) => r.aee);

test("the first picture comes soon, all screens are drawn, the charts move", async () => {
  await play({}, async (page, running) => {
    const waited = Date.now() - running.began;
    console.log(`# from start to first picture, Chromium's own start included: ${waited} ms`);
    await until(page, allSee);
    assert.equal(await page.locator(".screen canvas").count(), 4);
    for (const canvas of await page.locator(".screen canvas").all()) {
      assert.ok(await isDrawn(canvas));
    }
    const chart = page.locator(".chart").first();
    const before = await chart.screenshot();
    const legend = await chart.locator(".legend").innerText();
    const early = errors(await frame(page));
    await until(page, (news, sum) => news.receivers.reduce((s, r) => s + r.aee, 0) > sum + 1, early.reduce((a, b) => a + b));
    await page.waitForTimeout(500);
    assert.notDeepEqual(await chart.screenshot(), before);
    assert.notEqual(await chart.locator(".legend").innerText(), legend);
  });
});

test("a policy change bends the curves: the far receiver's share of the error falls", async () => {
  await play({}, async (page) => {
    const share = (a, b) => {
      const grown = b.receivers.map((r, i) => r.aee - a.receivers[i].aee);
      return grown[2] / grown.reduce((x, y) => x + y);
    };
    const first = await until(page, (news) => news.receivers.every((r) => r.sees) && news.receivers[2].aee > 5);
    const second = await until(page, (news, t) => news.t > t + 5000, first.t);
    await page.getByLabel("Policy").selectOption("equal-100");
    await until(page, (news, t) => news.t > t + 1500, second.t);
    const third = await frame(page);
    const fourth = await until(page, (news, t) => news.t > t + 10000, third.t);
    const [base, equal] = [share(first, second), share(third, fourth)];
    console.log(`# share of the receiver 800 ms away: ${base.toFixed(2)} by base, ${equal.toFixed(2)} by equal-100`);
    assert.ok(base > 0.45, `${base}`); // by its delay: 800 of 1500 ms, and more
    assert.ok(equal < base - 0.1, `${equal} < ${base}`);
  });
});

test("the network's and the clock's controls reach the processes", async () => {
  await play({}, async (page) => {
    await until(page, allSee);
    await page.getByLabel("Jitter").fill("100");
    await page.getByLabel("Loss").fill("10");
    await page.getByRole("radio", { name: "local" }).check();
    await page.waitForFunction(() => window.fairlead.settings?.clock === "local");
    const settings = await page.evaluate(() => window.fairlead.settings);
    assert.deepEqual([settings.jitter_ms, settings.loss_percent, settings.clock], [100, 10, "local"]);
    const start = await frame(page);
    const end = await until(page, (news, t) => news.t > t + 4000, start.t);
    const [near, , far] = end.receivers.map((r, i) => r.aee - start.receivers[i].aee);
    assert.ok(near > 2, `${near}: on arrival means wrong by speed times delay, near ones, too`);
    assert.ok(far > near);
  });
});

test("keys drive the tank, and the bot gets it back", async () => {
  await play({}, async (page) => {
    await until(page, (news) => news.screens[0].tanks[3] === 2);
    await page.keyboard.down("ArrowLeft");
    await until(page, (news) => news.driven);
    const a = await until(page, (news) => news.screens[0].tanks[3] === 2);
    const b = await until(page, (news, t) => news.t > t + 400, a.t);
    if (a.life === b.life) { // it may be shot while we look
      const turned = ((b.screens[0].tanks[2] - a.screens[0].tanks[2]) % 6283 + 6283) % 6283;
      assert.ok(turned > 150 && turned < 1500, `${turned} mrad to the left`);
    }
    await page.keyboard.up("ArrowLeft");
    await page.getByRole("button", { name: "Let the bot drive" }).click();
    await until(page, (news) => !news.driven);
  });
});

test("a dragged slider leaves one mark, and the keys to the tank; a list and a typed name, too", async () => {
  await play({}, async (page) => {
    await until(page, (news) => news.t > 500);
    await drag(page, "Jitter", 0.9);
    const { jitter_ms: jitter } = await page.evaluate(() => window.fairlead.settings);
    const begun = await frame(page);
    await until(page, (news, t) => news.t > t + 1200, begun.t);
    assert.ok(jitter > 100, `${jitter}`);
    assert.deepEqual(await page.evaluate(() => window.fairlead.marks()), ["base", `base, jitter ${jitter} ms`]);

    const drives = async (key, why) => {
      await page.keyboard.down(key);
      await until(page, (news) => news.driven, null, 5).catch(() => assert.fail(why));
      await page.keyboard.up(key);
      await page.getByRole("button", { name: "Let the bot drive" }).click();
      await until(page, (news) => !news.driven);
    };
    await drives("ArrowLeft", "after dragging a slider");
    assert.equal((await page.evaluate(() => window.fairlead.settings)).jitter_ms, jitter);
    await drives("Space", "after pressing a button");
    await page.getByLabel("Policy").focus();
    await drives("KeyA", "letters, wherever one does not type");
    await page.getByLabel("Policy").selectOption("equal-50");
    await drives("ArrowLeft", "after choosing from a list");

    const other = page.getByLabel("any other");
    const hint = page.locator(".control", { has: other }).locator(".hint");
    await other.click();
    await page.keyboard.type("was");
    assert.equal((await frame(page)).driven, false, "who types does not drive");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.fairlead.settings?.refused === "was");
    assert.match(await hint.innerText(), /no policy “was”; it stays equal-50.*Known: base, base\/3/s);
    await other.fill("equal/2-75");
    assert.match(await hint.innerText(), /^Enter sets it/);
    await other.press("Enter");
    await page.waitForFunction(() => window.fairlead.settings?.policy === "equal/2-75");
    await drives("ArrowLeft", "after typing a name");
  });
});

test("fingers drive the tank on a phone", async () => {
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  await play(phone, async (page) => {
    await until(page, allSee);
    const up = page.getByRole("button", { name: "up" });
    await up.dispatchEvent("pointerdown");
    await until(page, (news) => news.driven);
    await up.dispatchEvent("pointerup");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, "nothing sticks out at the side");
    await page.screenshot({ path: path.join(pictures, "tanks-phone.png"), fullPage: true });
  });
});

test("everything is reached by the Tab key and has a name", async () => {
  await play({}, async (page) => {
    const names = [];
    for (let i = 0; i < 14; i++) {
      await page.keyboard.press("Tab");
      names.push(await page.evaluate(() => {
        const { activeElement: node } = document;
        return node.getAttribute("aria-label") || node.labels?.[0]?.innerText || node.innerText || node.tagName;
      }));
    }
    for (const wanted of ["The arena as the owner", "Policy", "any other", "Jitter", "Loss", "global", "Let the bot drive",
      "Count again"]) {
      assert.ok(names.some((name) => name.includes(wanted)), `${wanted} in ${names}`);
    }
  });
});

test("who has no token looks on and cannot touch anything", async () => {
  await play({ look: true }, async (page) => {
    await until(page, (news) => news.t > 500);
    assert.ok(await page.getByLabel("Policy").isDisabled());
    assert.match(await page.locator("#status").innerText(), /looking on/);
    await page.keyboard.press("ArrowUp");
    await page.waitForTimeout(300);
    assert.equal((await frame(page)).driven, false);
  });
});

test("32 players are drawn smoothly by software alone, and dark and light follow the system", async () => {
  await play({ demo: ["--players", "32"], colorScheme: "dark" }, async (page) => {
    await until(page, allSee);
    const [first, second] = await page.evaluate(async () => {
      const now = () => ({ drawn: window.fairlead.drawn, at: performance.now() });
      const begin = now();
      await new Promise((resolve) => { setTimeout(resolve, 2000); });
      return [begin, now()];
    });
    const rate = (1000 * (second.drawn - first.drawn)) / (second.at - first.at);
    console.log(`# frames a second with 32 players: ${rate.toFixed(1)}`);
    assert.ok(second.drawn > first.drawn); // the figure is for people: a busy machine draws less often
    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await colour();
    await page.screenshot({ path: path.join(pictures, "tanks-dark.png"), fullPage: true });
    await page.emulateMedia({ colorScheme: "light" });
    assert.notEqual(await colour(), dark);
    await until(page, (news) => news.t > 0);
    await page.screenshot({ path: path.join(pictures, "tanks-light.png"), fullPage: true });
  });
});
