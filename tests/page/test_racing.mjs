// The racing demo in a real Chromium: node test_racing.mjs PROGRAM FOLDER_WITH_NODE_MODULES
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

import { frame, isDrawn, pictures, play, until } from "./browser.mjs";

const racing = (news) => news.compared && news.screens.every((screen) => screen.cars[3] > 0 && screen.cars[7] > 0);

test("both screens are drawn, the charts move, the words say who leads", async () => {
  await play({ demo: ["racing"] }, async (page) => {
    await until(page, (news) => news.phase === "race");
    await page.waitForTimeout(100);
    assert.doesNotMatch(await page.locator(".verdict").innerText(), /about to start/);
    const first = await until(page, racing);
    for (const canvas of await page.locator(".screen canvas").all()) {
      assert.ok(await isDrawn(canvas));
    }
    const chart = page.locator(".chart").first();
    const before = await chart.screenshot();
    await until(page, (news, t) => news.t > t + 1500, first.t);
    assert.notDeepEqual(await chart.screenshot(), before);
    assert.match(await page.locator(".verdict").innerText(), /screens/);
    assert.match(await page.locator(".figures").first().innerText(), /leads: [AB] by/);
  });
});

test("a better scheme makes the screens agree", async () => {
  await play({ demo: ["racing", "--scheme", "nc"], colorScheme: "dark" }, async (page) => {
    const start = await until(page, racing);
    const bad = await until(page, (news, t) => news.t > t + 6000, start.t);
    await page.getByLabel("Scheme").selectOption("best");
    await page.waitForFunction(() => window.fairlead.settings?.scheme === "best");
    const changed = await frame(page);
    const good = await until(page, (news, t) => news.t > t + 8000, changed.t); // counted from the change on
    console.log(`# screens disagree: ${bad.rate.toFixed(1)} % with nc, ${good.rate.toFixed(1)} % with best`);
    assert.ok(bad.rate > 15, `${bad.rate}`);
    assert.ok(good.rate < bad.rate / 3, `${good.rate}`);
    await page.screenshot({ path: path.join(pictures, "racing-dark.png"), fullPage: true });
  });
});

test("keys drive the car, the network can be changed, a new race starts when asked for", async () => {
  await play({ demo: ["racing"] }, async (page) => {
    const first = await until(page, racing);
    await page.keyboard.down("ArrowDown"); // brakes
    await until(page, (news) => news.driven);
    await until(page, (news) => Math.abs(news.screens[0].gap) > 15 && news.screens[0].gap < 0);
    await page.keyboard.up("ArrowDown");
    await page.getByLabel("Delay").fill("200");
    await page.waitForFunction(() => window.fairlead.settings?.delay_ms === 200);
    await page.getByLabel("any other").fill("nonsense");
    await page.keyboard.press("Enter");
    await page.getByText(/There is no scheme “nonsense”; it stays nc\. Known: nc, causality/).waitFor();
    await page.getByRole("button", { name: "New race" }).click();
    await until(page, (news, race) => news.race > race && news.compared, first.race);
    await page.screenshot({ path: path.join(pictures, "racing-light.png"), fullPage: true });
  });
});

test("it fits a phone", async () => {
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  await play({ demo: ["racing"], ...phone }, async (page) => {
    await until(page, racing);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, "nothing sticks out at the side");
    await page.screenshot({ path: path.join(pictures, "racing-phone.png"), fullPage: true });
  });
});
