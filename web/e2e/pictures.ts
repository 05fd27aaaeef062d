/** `cargo xtask screenshots`: pictures of every page, to be looked at. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { test } from "./fixtures";
import { EMPTY_PAGES, FULL_PAGES, open } from "./pages";

const folder = process.env.COUNTERSIGN_PICTURES ?? "../target/screenshots";
const sizes = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const themes = ["light", "dark"] as const;

// A page that is not found or a refused call is logged by the browser.
test.beforeEach(({ faults }) => faults.expect(/status of 40\d/));

for (const [size, viewport] of Object.entries(sizes)) {
  for (const theme of themes) {
    test(`empty, ${size}, ${theme}`, async ({ broker, page }) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: theme });
      for (const [name, path] of Object.entries(EMPTY_PAGES)) {
        await open(page, broker.url(path));
        await shoot(page, `empty-${name}-${size}-${theme}`);
      }
    });

    test(`full, ${size}, ${theme}`, async ({ demo, page }) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: theme });
      // Pictures show the page of a real broker, without the banner of the demo.
      await page.route("**/api/v1/whoami", async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...(await answer.json()), demo: false } });
      });
      for (const [name, path] of Object.entries(FULL_PAGES)) {
        await open(page, demo.url(path));
        await shoot(page, `full-${name}-${size}-${theme}`);
      }
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await shoot(page, `full-help-${size}-${theme}`);
    });
  }
}

async function shoot(page: Page, name: string) {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}
