// Unpacks the headless Chromium of @sparticuz/chromium: `node unpack.mjs FOLDER`. FOLDER/chromium starts it.
//
// The package's own code unpacks into the temporary folder of the machine and chooses options for a cloud function.
import { execFileSync } from "node:child_process";
import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

const packed = join(import.meta.dirname, "node_modules/@sparticuz/chromium/bin");
const folder = resolve(process.argv[2]);
// Renamed at the end, so that a folder of this name is always complete.
const partial = `${folder}.partial`;

async function inflate(name, output, mode) {
  await pipeline(createReadStream(join(packed, name)), createBrotliDecompress(), createWriteStream(output, { mode }));
}

async function extract(name, into) {
  const archive = join(partial, name.replace(/\.br$/, ""));
  await inflate(name, archive, 0o600);
  mkdirSync(into, { recursive: true });
  execFileSync("tar", ["-xf", archive, "-C", into]);
  rmSync(archive);
}

rmSync(partial, { recursive: true, force: true });
mkdirSync(partial, { recursive: true });
await inflate("chromium.br", join(partial, "headless_shell"), 0o755);
await extract("al2023.tar.br", partial);
await extract("swiftshader.tar.br", partial);
await extract("fonts.tar.br", partial);
writeFileSync(
  join(partial, "fonts.conf"),
  `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>/usr/share/fonts</dir>
  <dir>${folder}/fonts</dir>
  <cachedir>${folder}/font-cache</cachedir>
</fontconfig>
`,
);
writeFileSync(
  join(partial, "chromium"),
  `#!/bin/sh
export LD_LIBRARY_PATH='${folder}/lib' FONTCONFIG_FILE='${folder}/fonts.conf'
exec '${folder}/headless_shell' "$@"
`,
  { mode: 0o755 },
);
rmSync(folder, { recursive: true, force: true });
renameSync(partial, folder);
