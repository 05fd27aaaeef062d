/** The parts of a review's page, by role and name. */
import { expect, type Locator, type Page } from "@playwright/test";
import type { RestClient } from "./restClient";

export class ReviewView {
  constructor(readonly page: Page) {}

  static async open(page: Page, broker: RestClient, review: string, query = ""): Promise<ReviewView> {
    await page.goto(broker.url(`/r/${review}${query}`));
    await expect(page.getByRole("heading", { level: 1, name: new RegExp(`^${review} `) })).toBeVisible();
    return new ReviewView(page);
  }

  get status(): Locator {
    return this.page.getByRole("status", { name: "Review status" });
  }

  get turns(): Locator {
    return this.page.getByRole("list", { name: "Whose turn it is" });
  }

  get seats(): Locator {
    return this.page.getByRole("region", { name: "Seats" });
  }

  get conversation(): Locator {
    return this.page.getByRole("region", { name: "Conversation" });
  }

  /** The field for a message to the others. */
  get composer(): Locator {
    return this.page.getByRole("textbox", { name: "Write a message" });
  }

  /** A button of the bar with the actions. */
  action(name: string): Locator {
    return this.page.getByRole("region", { name: "Actions" }).getByRole("button", { name, exact: true });
  }

  dialog(name: string): Locator {
    return this.page.getByRole("dialog", { name });
  }

  /** The form of a verdict. */
  verdict(what: "Approve" | "Request changes", review: string): Locator {
    return this.page.getByRole("dialog", { name: new RegExp(`^${what} .*${review}$`) });
  }

  tab(name: RegExp): Locator {
    return this.page.getByRole("tab", { name });
  }

  /** The card of a finding: in the diff and, if it is open, in the list. */
  finding(id: string): Locator {
    return this.page.getByRole("article", { name: `Finding ${id}`, exact: true });
  }

  message(of: string): Locator {
    return this.conversation.getByRole("article", { name: `Message of ${of}` });
  }

  /** The line of the diff that contains the text. */
  line(text: string): Locator {
    return this.page.getByText(text).first();
  }

  /** Opens the form for a comment on a line with the mouse. */
  async commentOn(text: string): Promise<Locator> {
    // As a hand moves: over the line and on to its start.
    await this.line(text).hover();
    await this.line(text).hover({ position: { x: 90, y: 8 } });
    await this.page.getByRole("button", { name: "Comment on the line" }).click();
    const form = this.page.getByRole("form", { name: /^Comment on/ });
    await expect(form).toBeVisible();
    return form;
  }

  async expectStatus(word: string) {
    await expect(this.status).toHaveText(new RegExp(`${word}$`));
  }
}

/** Remembers that the page was not loaded again since this call. */
export async function markLoaded(page: Page) {
  await page.evaluate(() => Object.assign(globalThis, { isSameDocument: true }));
}

export async function expectNotReloaded(page: Page) {
  expect(await page.evaluate(() => "isSameDocument" in globalThis), "the page was not loaded again").toBe(true);
}

/** Presses a key until the element has the focus, as a person who looks where it went. */
export async function pressUntilFocused(page: Page, key: string, target: Locator, limit = 40) {
  for (let n = 0; n < limit; n++) {
    await page.keyboard.press(key);
    const isThere = await expect(target)
      .toBeFocused({ timeout: 250 })
      .then(
        () => true,
        () => false,
      );
    if (isThere) return;
  }
  await expect(target, `${key} reaches it`).toBeFocused({ timeout: 1 });
}

/** Opens the search in the diff and goes to the first match. */
export async function findInDiff(page: Page, text: string) {
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox", { name: "Find in the diff" })).toBeFocused();
  await page.keyboard.type(text);
}
