/** Prints what failed, with the place of its trace, and one line with the counts. */
import type { FullResult, Reporter, TestCase, TestError, TestResult } from "@playwright/test/reporter";

class ShortReporter implements Reporter {
  private readonly last = new Map<string, { title: string; result: TestResult; isExpected: boolean }>();
  private errors = 0;

  onTestEnd(test: TestCase, result: TestResult) {
    const title = test.titlePath().filter(Boolean).slice(1).join(" › ");
    const isExpected = result.status === test.expectedStatus || result.status === "skipped";
    this.last.set(test.id, { title, result, isExpected });
    if (isExpected) return;
    const texts = result.errors
      .map((error) => error.stack ?? error.message ?? error.value ?? "")
      .join("\n")
      .replaceAll(COLOUR, "");
    const files = result.attachments.flatMap(({ path }) => path ?? []);
    print(`FAILED ${title}\n${texts}\n${files.map((file) => `  ${file}\n`).join("")}`);
  }

  /** An error outside of tests, such as a file that does not compile. */
  onError(error: TestError) {
    this.errors += 1;
    print(`FAILED ${error.stack ?? error.message ?? error.value ?? ""}`);
  }

  onStdOut(chunk: string | Buffer) {
    process.stdout.write(chunk);
  }

  onStdErr(chunk: string | Buffer) {
    process.stderr.write(chunk);
  }

  onEnd({ duration, status }: FullResult) {
    const ended = [...this.last.values()];
    const passed = ended.filter(({ isExpected, result }) => isExpected && result.status !== "skipped").length;
    const failed = ended.filter(({ isExpected }) => !isExpected).length + this.errors;
    const slowest = ended.toSorted((a, b) => b.result.duration - a.result.duration).slice(0, 3);
    const times = slowest.map(({ title, result }) => `${seconds(result.duration)} ${title.split(" › ").at(-1)}`);
    if (ended.length > 3) print(`slowest: ${times.join("; ")}`);
    print(`${status} in ${seconds(duration)}`);
    print(`${passed} passed, ${failed} failed`);
  }

  printsToStdio() {
    return true;
  }
}

// Built from parts because a linter refuses control characters in patterns.
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");
const print = (text: string) => process.stdout.write(`${text}\n`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

export default ShortReporter;
