/** The settings of the broker with their sources, and webhooks with the events they did not accept. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Broker } from "./broker";
import { expect, test } from "./fixtures";

test.describe("values", () => {
  test.use({
    brokerOptions: {
      settings:
        '[claims]\nlease = "9m"\n[[panel.rules]]\npaths = ["*.sql"]\npersonas = ["architecture"]\n[pool]\nruntime = "command"\ncommand = ["agent", "hunter2"]\n',
    },
  });

  test("each value is shown with its source and the command that changes it", async ({ broker, page }) => {
    await page.goto(broker.url("/"));
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeFocused();
    const values = page.getByRole("region", { name: "Values" });
    const lease = values.getByRole("listitem").filter({ hasText: /^claims\.lease/ });
    await expect(lease).toContainText("9m");
    await expect(lease).toContainText("file of --config");
    const listen = values.getByRole("listitem").filter({ hasText: /^server\.listen/ });
    await expect(listen).toContainText("option");
    await expect(listen).toContainText("--listen");

    const find = page.getByRole("searchbox");
    await page.keyboard.press("/");
    await expect(find).toBeFocused();
    await page.keyboard.type("lease");
    await expect(page).toHaveURL(/q=lease/);
    await expect(listen).toHaveCount(0);
    await page.keyboard.press("Escape");
    await expect(find).not.toBeFocused();
    await expect(find).toHaveValue("lease");
    await lease.getByRole("button").first().click();
    await expect(lease).toContainText("countersign config set claims.lease 9m");
    await expect(lease).toContainText(/Default: \d+m/);

    await page.goto(broker.url("/settings?changed=true"));
    await expect(values).toContainText("claims.lease");
    await expect(values).not.toContainText("git.program");
    await expect(values).toContainText("agent, (hidden)");
    await expect(page.getByText("hunter2")).toHaveCount(0);
    await expect(page.getByRole("region", { name: "Panel", exact: true })).toContainText(
      "architecture if a changed file matches *.sql",
    );
    await expect(page.getByRole("region", { name: "Projects" })).toContainText("shop");
  });
});

/** A receiver that refuses every event until `accepts` is set. */
class Receiver {
  accepts = false;
  readonly received: string[] = [];
  private readonly server: Server = createServer((request, answer) => {
    this.received.push(String(request.headers["webhook-id"]));
    request.resume();
    answer.writeHead(this.accepts ? 200 : 500).end();
  });

  async listen(): Promise<string> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

test("a person sends failed deliveries again and drops the rest", async ({ page, faults }) => {
  const receiver = new Receiver();
  const url = await receiver.listen();
  const settings = `[webhooks]\nattempts = 1\n[[webhooks.receivers]]\nname = "ci"\nurl = "${url}"\n`;
  const broker = await Broker.start({ settings });
  faults.allowOrigin(broker.address);
  try {
    await broker.agent("builder").propose("Add none");
    await page.goto(broker.url("/settings"));
    const ci = page.getByRole("article", { name: "Webhook ci" });
    await expect(ci).toContainText("1 not delivered");
    await expect(ci).toContainText("R-1");
    receiver.accepts = true;
    await ci.getByRole("button", { name: "Send again", exact: true }).click();
    await expect(ci).toContainText("✓ ok");
    expect(receiver.received).toHaveLength(2);

    receiver.accepts = false;
    await broker.agent("codex").claim("R-1");
    await expect(ci).toContainText("1 not delivered");
    await ci.getByRole("button", { name: "Drop all…" }).click();
    const dialog = page.getByRole("dialog", { name: "Drop deliveries" });
    await expect(dialog).toContainText("The events stay in the log.");
    await dialog.getByRole("button", { name: "Drop", exact: true }).click();
    await expect(ci).toContainText("✓ ok");
    expect((await broker.call("list_dead_deliveries", { webhook: "ci" })).dead).toEqual([]);
  } finally {
    receiver.close();
    faults.stop();
    await broker.remove();
  }
});
