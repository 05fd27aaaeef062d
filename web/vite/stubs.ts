import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

/**
 * Leaves Shiki out of the build. @pierre/diffs can highlight with Shiki (627 files, 17 MB of languages and themes) or with
 * its own WebAssembly (`highlights`), and we use only the latter. What is stubbed here is never called: the pane asks for
 * `highlights` and registers its two themes itself. The names are internal to @pierre/diffs, so its version is pinned; a
 * build with many more files shows that they changed.
 */
const STUBBED =
  /^shiki(?:\/|$)|^@pierre\/theming\/themes$|^@pierre\/highlights\/themes\/loader$|\/backends\/shiki\.js$|^\.\/shiki-[\w-]+\.js$/;

const STUB_ID = "\0stub-of-shiki";
const STUB_NAMES = [
  "bundledLanguages",
  "createCssVariablesTheme",
  "createHighlighterCore",
  "createJavaScriptRegexEngine",
  "createOnigurumaEngine",
  "EncodedTokenMetadata",
  "INITIAL",
  "normalizeTheme",
  "ShikiHighlighter",
  "themes",
];

/**
 * The package carries its WebAssembly inside a script, which would be bundled twice, for the page and for its workers.
 * Both load this one file instead.
 */
const WASM_SCRIPT = "./highlights.wasm.mjs";
const WASM_ID = "\0highlights-wasm";
const wasmFile = fileURLToPath(new URL("../node_modules/@pierre/highlights/dist/highlights.wasm", import.meta.url));

/**
 * remark-gfm also brings the writer of markdown, 17 kB that are never called: the page only reads. Its handlers are made
 * when the plugin is attached, and call nothing of it then.
 */
const WRITER_ID = "\0stub-of-markdown-writer";
const WRITER_NAMES = ["defaultHandlers", "toMarkdown"];

export function stubMarkdownWriter(): Plugin {
  return {
    name: "stub-markdown-writer",
    enforce: "pre",
    resolveId: (source) => (source === "mdast-util-to-markdown" ? WRITER_ID : undefined),
    load: (id) => (id === WRITER_ID ? WRITER_NAMES.map((name) => `export const ${name} = {};`).join("\n") : undefined),
  };
}

export function stubShiki(): Plugin {
  return {
    name: "stub-shiki",
    enforce: "pre",
    resolveId: (source, importer) => {
      if (importer?.includes("/@pierre/diffs/") && STUBBED.test(source)) return STUB_ID;
      return importer?.includes("/@pierre/highlights/") && source === WASM_SCRIPT ? WASM_ID : undefined;
    },
    load: (id) => {
      if (id === STUB_ID) return STUB_NAMES.map((name) => `export const ${name} = {};`).join("\n");
      if (id !== WASM_ID) return undefined;
      return `import url from ${JSON.stringify(`${wasmFile}?url`)};
const answer = await fetch(url);
if (!answer.ok) throw new Error(\`the highlighter could not be loaded: \${answer.status}\`);
export default new Uint8Array(await answer.arrayBuffer());`;
    },
  };
}
