/** Watches a browser for everything that must not happen, whatever a test looks at. */
import type { BrowserContext } from "@playwright/test";

/** What the browser reports while a broker is down. */
const BROKER_IS_DOWN =
  /ERR_CONNECTION_|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|WebSocket connection to|status of 503/;

export class Faults {
  readonly found: string[] = [];
  private readonly expected: RegExp[] = [];
  private readonly origins = new Set<string>();
  private isWatching = true;

  /** From now on, faults of this kind are part of the test. */
  expect(...patterns: RegExp[]) {
    this.expected.push(...patterns);
  }

  /** From now on, the broker may be down for a while. One that stops answers what it no longer begins with 503. */
  expectBrokerDown() {
    this.expect(BROKER_IS_DOWN);
  }

  /** Requests to other origins than these are faults. */
  allowOrigin(address: string) {
    this.origins.add(new URL(address).origin);
  }

  async watch(context: BrowserContext) {
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (report) => {
        console.error(`CSP report: ${report.violatedDirective} ${report.blockedURI} ${report.sample}`);
      });
    });
    context.on("console", (message) => {
      if (message.type() === "error") this.report(`console: ${message.text()} (${message.location().url})`);
    });
    context.on("weberror", (error) =>
      this.report(`uncaught: ${error.error().name} ${error.error().message} ${error.error().stack ?? ""}`),
    );
    context.on("dialog", (dialog) => {
      this.report(`a script opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      // The page itself ends requests whose answer it no longer needs.
      if (why !== "net::ERR_ABORTED") this.report(`request failed: ${why} ${request.url()}`);
    });
    context.on("request", (request) => this.checkOrigin(request.url()));
    context.on("page", (page) => page.on("websocket", (socket) => this.checkOrigin(socket.url())));
  }

  /** The test is over: what a closing browser or broker reports does not count. */
  stop() {
    this.isWatching = false;
  }

  private checkOrigin(address: string) {
    const url = new URL(address.replace(/^ws/, "http"));
    const isInside = url.protocol === "data:" || url.protocol === "blob:";
    if (!isInside && !this.origins.has(url.origin)) this.report(`a request left the origin: ${address}`);
  }

  private report(fault: string) {
    if (this.isWatching && !this.expected.some((pattern) => pattern.test(fault))) this.found.push(fault);
  }
}
