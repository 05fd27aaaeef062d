/** No page breaks a rule of WCAG 2.2 AA that axe can check, in either theme, on a wide and a narrow screen. */
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { EMPTY_PAGES, FULL_PAGES, open } from "./pages";

test.beforeEach(({ faults }) => faults.expect(/status of 40\d/));

for (const theme of ["light", "dark"] as const) {
  for (const width of [1440, 360]) {
    test.describe(`${theme}, ${width} px`, () => {
      test.use({ colorScheme: theme, viewport: { width, height: 900 } });

      test("the pages of an empty broker", async ({ broker, page }) => {
        for (const path of Object.values(EMPTY_PAGES)) {
          await open(page, broker.url(path));
          await expectNoViolation(page, path);
        }
      });

      test("the pages of a broker with reviews", async ({ demo, page }) => {
        test.slow();
        for (const path of Object.values(FULL_PAGES)) {
          await open(page, demo.url(path));
          await expectNoViolation(page, path);
        }
      });
    });
  }
}

async function expectNoViolation(page: Page, path: string) {
  const found = await new AxeBuilder({ page }).analyze();
  const violations = found.violations.map(({ id, nodes }) => {
    const places = nodes.slice(0, 3).map(({ target, failureSummary }) => `${target.join(" ")}: ${failureSummary}`);
    return `${path}: ${id} (${nodes.length} elements)\n${places.join("\n")}`;
  });
  expect.soft(violations).toEqual([]);
}
