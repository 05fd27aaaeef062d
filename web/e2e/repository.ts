/** A git repository for one test. Diffs are made by git, and the files stay as they were committed. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The files of a fresh repository. */
export const PRICE = `/// The amount to pay, in cents.
pub fn total(prices: &[u32]) -> u32 {
    prices.iter().sum()
}
`;

const CART = Array.from({ length: 60 }, (_, n) => `pub const ITEM_${n + 1}: u32 = ${(n + 1) * 100};\n`).join("");

const FILES: Record<string, string> = {
  "README.md": "# Shop\n\nAdds up prices.\n",
  "src/cart.rs": CART,
  "src/price.rs": PRICE,
};

/** New contents of files by path; `null` deletes the file. */
export type Changes = Record<string, string | null>;

export class Repository {
  constructor(readonly root: string) {
    mkdirSync(root, { recursive: true });
    this.git("init", "--quiet", "--initial-branch=main");
    // The page suggests this name to the person.
    this.git("config", "user.name", "ann");
    this.git("config", "user.email", "ann@example.invalid");
    this.commit("The shop adds up prices", FILES);
  }

  git(...args: string[]): string {
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
    // Settings of the user, such as signing or hooks, must not matter.
    const isolated = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    return execFileSync("git", args, {
      cwd: this.root,
      encoding: "utf8",
      env: { ...Object.fromEntries(environment), ...isolated },
      maxBuffer: 100 << 20,
    });
  }

  commit(message: string, changes: Changes): string {
    this.write(changes);
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", message);
    return this.git("rev-parse", "HEAD").trim();
  }

  /** The diff of these changes against HEAD. */
  diff(changes: Changes): string {
    this.write(changes);
    this.git("add", "--all");
    const diff = this.git("diff", "--cached", "--binary");
    this.git("reset", "--quiet", "--hard");
    return diff;
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  private write(changes: Changes) {
    for (const [path, text] of Object.entries(changes)) {
      const file = join(this.root, path);
      if (text === null) {
        rmSync(file);
      } else {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
      }
    }
  }
}
