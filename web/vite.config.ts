import { basename } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { stubMarkdownWriter, stubShiki } from "./vite/stubs.ts";

/** The broker that `npm run dev` shows. `cargo xtask web --dev` sets it. */
const broker = process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8321";

/**
 * The broker serves the files under `/assets/<build id>/` and writes the id into index.html, so that names stay the same
 * from build to build.
 */
const ASSETS = "/assets/%BUILD%/";

/** Sets the theme before the first paint. It is a script of its own because the page allows no inline script. */
function themeScript(): Plugin {
  return {
    name: "theme-script",
    transformIndexHtml: (_, context) => [
      {
        tag: "script",
        attrs: { src: `${context.server ? "/assets/" : ASSETS}firstTheme.js` },
        injectTo: "head-prepend",
      },
    ],
  };
}

/** Asks who uses the page while the scripts load, because every other request waits for the answer. */
function whoamiPreload(): Plugin {
  return {
    name: "whoami-preload",
    transformIndexHtml: () => [
      {
        tag: "link",
        attrs: { rel: "preload", as: "fetch", href: "/api/v1/whoami", crossorigin: "" },
        injectTo: "head",
      },
    ],
  };
}

/** Vite encodes the addresses of some elements, and the broker would not find the place of the build id. */
function plainPlaceholder(): Plugin {
  return {
    name: "plain-placeholder",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type === "asset") page.source = String(page.source).replaceAll(encodeURI(ASSETS), ASSETS);
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [
    stubShiki(),
    stubMarkdownWriter(),
    themeScript(),
    whoamiPreload(),
    tailwindcss(),
    react(),
    plainPlaceholder(),
  ],
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === "html" ? `${ASSETS}${basename(file)}` : { relative: true }),
  },
  build: {
    outDir: "../ui/dist",
    emptyOutDir: true,
    target: "es2022",
    // Small files inside scripts would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
        // What every page needs is one file, not thirty. The inbox is in it: most visits begin there.
        codeSplitting: { groups: [{ name: "frame", test: /\/src\/main\.tsx$/ }] },
      },
    },
  },
  // The worker that colours diffs. Its chunks have names of their own: some are also chunks of the page.
  worker: {
    format: "es",
    plugins: () => [stubShiki()],
    rolldownOptions: {
      output: {
        entryFileNames: "assets/diff-[name].js",
        chunkFileNames: "assets/diff-worker-[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  optimizeDeps: {
    exclude: ["@pierre/diffs", "@pierre/highlights"],
    include: ["@pierre/diffs > diff", "@pierre/diffs > hast-util-to-html", "@pierre/diffs > lru_map"],
  },
  server: {
    proxy: {
      "/api": { target: broker, changeOrigin: true, headers: { origin: broker } },
      "/healthz": { target: broker, changeOrigin: true },
      "/ws": { target: broker, changeOrigin: true, ws: true, headers: { origin: broker } },
    },
  },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
