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

// what decides what is built; tests/server/routes/test_console.py hashes the same files in the same way
const DECIDING = ["build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json", "../examples/taxi/taxi.sql"];

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
  // the same chunks where node_modules is a link
  preserveSymlinks: true,
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
  loader: { ".sql": "text" },
  metafile: true,
  write: false,
});

const made = new Map(result.outputFiles.map((file) => [relative(dist, file.path), Buffer.from(file.contents)]));
const image = readFileSync(join(root, "src/icon.svg"));
const icon = `icon-${createHash("sha256").update(image).digest("hex").slice(0, 8)}.svg`;
const [entry] = Object.entries(result.metafile.outputs).find(([, output]) => output.entryPoint === "src/main.tsx");
// what the entry imports at once, and what that imports: the browser should not have to find that out bit by bit
const atOnce = new Set([entry]);
for (const path of atOnce) {
  for (const one of result.metafile.outputs[path].imports) if (one.kind === "import-statement") atOnce.add(one.path);
}
const preload = [...atOnce].slice(1).map((path) => `<link rel="modulepreload" href="console/${relative("dist", path)}" />`).join("\n    ");
const page = readFileSync(join(root, "index.html"), "utf8")
  .replace("{{script}}", `console/${relative("dist", entry)}`)
  .replace("{{style}}", `console/${relative("dist", result.metafile.outputs[entry].cssBundle)}`)
  .replace("{{preload}}", preload)
  .replace("{{icon}}", `console/${icon}`);
const texts = {
  "index.html": page,
  "LICENSES.txt": licences(Object.keys(result.metafile.inputs)).join(`\n${"-".repeat(80)}\n\n`),
  "manifest.json": `${JSON.stringify({ sources: hashOfSources() }, null, 2)}\n`,
};
made.set(icon, image);
for (const [name, text] of Object.entries(texts)) made.set(name, Buffer.from(text));

if (process.argv.includes("--check")) {
  const there = new Set(readdirSync(dist));
  const same = there.size === made.size && [...made].every(([name, bytes]) => there.has(name) && readFileSync(join(dist, name)).equals(bytes));
  if (!same) {
    console.error("dist/ is not what the sources make: make console");
    process.exit(1);
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  for (const [name, bytes] of made) writeFileSync(join(dist, name), bytes);
}

const zipped = [...made].filter(([name]) => /\.(js|css|html)$/.test(name)).map(([name, bytes]) => [name, gzipSync(bytes).length]);
const size = (wanted) => Math.round(zipped.filter(wanted).reduce((all, [, bytes]) => all + bytes, 0) / 1000);
const first = new Set(["index.html", relative("dist", result.metafile.outputs[entry].cssBundle), ...[...atOnce].map((path) => relative("dist", path))]);
console.log(`first page: ${size(([name]) => first.has(name))} kB gzipped; all: ${size(() => true)} kB`);
