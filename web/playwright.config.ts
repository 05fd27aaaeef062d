/** `cargo xtask test --browser`, `web --measure` and `screenshots` run Playwright with these projects. */
import { defineConfig } from "@playwright/test";

const chromium = process.env.COUNTERSIGN_CHROMIUM;
if (chromium === undefined) throw new Error("COUNTERSIGN_CHROMIUM is not set; run `cargo xtask test --browser`");

export default defineConfig({
  testDir: "e2e",
  outputDir: "../target/browser-tests",
  // Each test has a broker and a browser of its own; two of each keep two cores busy.
  workers: 2,
  fullyParallel: true,
  forbidOnly: process.env.CI !== undefined,
  // Limits of waits, long enough for a busy machine.
  timeout: 90_000,
  expect: { timeout: 20_000 },
  reporter: [["./e2e/reporter.ts"]],
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: chromium },
    viewport: { width: 1440, height: 900 },
    actionTimeout: 20_000,
    navigationTimeout: 20_000,
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
  },
  projects: [
    { name: "stories", testMatch: "*.spec.ts" },
    { name: "pictures", testMatch: "pictures.ts" },
    // Recording a trace takes more time than what is measured.
    { name: "measure", testMatch: "measure.ts", use: { trace: "off" } },
  ],
});
