// Builds src/ into dist/, the same bytes for the same sources: bundles whose names have a hash of their content,
// the page, the licences of what is bundled, and a manifest with a hash of the sources.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");

// what decides what is built; tests/server/test_server_console.py hashes the same files in the same way
const DECIDING = ["build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json"];

function files(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

function hashOfSources() {
  const hash = createHash("sha256");
  for (const name of [...DECIDING, ...files("src")].sort()) {
    hash.update(`${name}\n`).update(readFileSync(join(root, name)));
  }
  return hash.digest("hex");
}

function licences(inputs) {
  const packages = new Set(
    inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
  );
  return [...packages].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((found) => /^licen[cs]e/i.test(found));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : "(The package has no licence file.)";
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
}

const result = await build({
  absWorkingDir: root,
  entryPoints: { console: "src/main.tsx" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  legalComments: "none",
  metafile: true,
  write: false,
});

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
for (const file of result.outputFiles) writeFileSync(file.path, file.contents);

const [entry] = Object.entries(result.metafile.outputs).find(([, made]) => made.entryPoint) ?? [];
const script = relative("dist", entry);
const style = relative("dist", result.metafile.outputs[entry].cssBundle);
const image = readFileSync(join(root, "src/icon.svg"));
const icon = `icon-${createHash("sha256").update(image).digest("hex").slice(0, 8)}.svg`;
writeFileSync(join(dist, icon), image);
const page = readFileSync(join(root, "index.html"), "utf8")
  .replace("{{script}}", `console/${script}`)
  .replace("{{style}}", `console/${style}`)
  .replace("{{icon}}", `console/${icon}`);
writeFileSync(join(dist, "index.html"), page);
writeFileSync(join(dist, "LICENSES.txt"), licences(Object.keys(result.metafile.inputs)).join(`\n${"-".repeat(80)}\n\n`));
writeFileSync(join(dist, "manifest.json"), `${JSON.stringify({ sources: hashOfSources() }, null, 2)}\n`);

let all = 0;
for (const name of readdirSync(dist).sort()) {
  if (!/\.(js|css|html)$/.test(name)) continue;
  const bytes = readFileSync(join(dist, name));
  const zipped = gzipSync(bytes).length;
  all += zipped;
  console.log(`${name}: ${bytes.length} bytes, ${zipped} gzipped`);
}
console.log(`together: ${all} bytes gzipped`);
