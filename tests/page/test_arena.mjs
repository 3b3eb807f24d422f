// The arena demo in a real Chromium: node test_arena.mjs PROGRAM FOLDER_WITH_NODE_MODULES
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

import { frame, isDrawn, pictures, play, until } from "./browser.mjs";

const allSeen = (news) => news.players.how.every((how) => how > 0);
const guided = (news) => news.players.how.filter((how) => how === 3).length;
const inFocus = (news) => news.players.serves.filter((serves) => serves === 1).length;

test("the screen is drawn, charts move, another mode shows others differently, and keys drive", async () => {
  await play({ demo: ["arena", "--scheme", "hibw"] }, async (page, running) => {
    console.log(`# from start to first picture, Chromium's own start included: ${Date.now() - running.began} ms`);
    const hibw = await until(page, (news) => allSeen(news) && news.error[1] !== null);
    assert.equal(guided(hibw) + inFocus(hibw), 0, "who has no limit needs neither");
    assert.ok(await isDrawn(page.locator(".screen canvas").first()));
    assert.ok(await isDrawn(page.locator(".bars canvas")));
    assert.match(await page.locator(".uploads p").innerText(), /without a limit/);
    const chart = page.locator(".chart").first();
    const before = await chart.screenshot();

    await page.getByRole("radio", { name: "donny" }).check();
    await page.waitForFunction(() => window.fairlead.settings?.mode === "donny");
    const donny = await until(page, (news) => allSeen(news) && guided(news) > 0 && inFocus(news) > 0);
    assert.equal(donny.game, hibw.game + 1);
    assert.match(await page.locator(".figures").innerText(), /[1-9]\d* guided/);
    await page.waitForFunction(() => / of 108: /.test(document.querySelector(".uploads p").innerText));
    assert.notDeepEqual(await chart.screenshot(), before);

    await until(page, (news) => news.players.seen[3] === 2);
    await page.keyboard.down("ArrowLeft");
    const a = await until(page, (news) => news.driven);
    const b = await until(page, (news, t) => news.t > t + 800, a.t);
    const turned = (((b.players.seen[2] - a.players.seen[2]) % 6283) + 6283) % 6283;
    if (a.own.deaths === b.own.deaths) { // it may be shot while we look
      assert.ok(turned > 500 && turned < 3100, `${turned} mrad to the left`);
    }
    await page.keyboard.up("ArrowLeft");
    await page.getByRole("button", { name: "Let the bot drive" }).click();
    await until(page, (news) => !news.driven);

    await page.getByRole("radio", { name: "crowd" }).check();
    await page.waitForFunction(() => window.fairlead.settings?.topology === "crowd");
    const crowd = await until(page, (news) => allSeen(news) && guided(news) > 0 && inFocus(news) > 0 && news.error[0] !== null);
    assert.equal(crowd.game, donny.game + 1);
    assert.equal(crowd.peers, 15, "the lobby is no player");
    assert.ok(inFocus(crowd) <= 4);
    await page.waitForFunction(() => /passes on/.test(document.querySelector(".uploads p").innerText));
    const high = await page.evaluate(() => document.querySelector(".arena").clientHeight);
    assert.ok(high < 900, `${high}: the screen and what is beside it keep their size`);
    await page.screenshot({ path: path.join(pictures, "arena-light.png"), fullPage: true });
  });
});

test("32 players are drawn smoothly by software alone, and it fits a phone", async () => {
  await play({ demo: ["arena", "--players", "32", "--scheme", "donny"], colorScheme: "dark" }, async (page) => {
    await until(page, (news) => news.players.how.filter((how) => how > 0).length > 24);
    const rate = await page.evaluate(async () => {
      const begin = { drawn: window.fairlead.drawn, at: performance.now() };
      await new Promise((resolve) => { setTimeout(resolve, 2000); });
      return (1000 * (window.fairlead.drawn - begin.drawn)) / (performance.now() - begin.at);
    });
    console.log(`# frames a second with 32 players: ${rate.toFixed(1)}`);
    assert.ok(rate > 0); // the figure is for people: a busy machine draws less often
    await page.screenshot({ path: path.join(pictures, "arena-dark.png"), fullPage: true });
    await page.setViewportSize({ width: 390, height: 844 });
    const drawn = (await frame(page)).t;
    await until(page, (news, t) => news.t > t + 200, drawn);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, "nothing sticks out at the side");
    const names = [];
    for (let i = 0; i < 14; i++) {
      await page.keyboard.press("Tab");
      names.push(await page.evaluate(() => {
        const { activeElement: node } = document;
        return node.getAttribute("aria-label") || node.labels?.[0]?.innerText || node.innerText || node.tagName;
      }));
    }
    for (const wanted of ["The arena as player 0 sees it", "donny", "Upload of each player", "Round trip", "Loss",
      "Let the bot drive", "New match"]) {
      assert.ok(names.some((name) => name.includes(wanted)), `${wanted} in ${names}`);
    }
    await page.screenshot({ path: path.join(pictures, "arena-phone.png"), fullPage: true });
  });
});
