// The console's pages: split and hashed by esbuild, styled by Tailwind, in the folder of the Worker's assets.
import { createHash } from "node:crypto";
import { glob, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { compile } from "tailwindcss";

const SOURCE = "src/console";
const ENTRY = `${SOURCE}/main.tsx`;
/** Path of the pages below the origin. */
const ROOT = "/console";

/** Replaces the folder as a whole: a stack that is being started never reads half of the files. */
export async function buildConsole(outdir: string): Promise<void> {
  const draft = `${outdir}.${process.pid}-${Date.now()}`;
  const files = join(draft, ROOT, "assets");
  await mkdir(files, { recursive: true });
  const [entry, css] = await Promise.all([bundlePages(files), writeStyles(files)]);
  const template = await readFile(`${SOURCE}/index.html`, "utf8");
  const html = template
    .replace("{{script}}", `${ROOT}/assets/${entry}`)
    .replace("{{style}}", `${ROOT}/assets/${css}`);
  await writeFile(join(draft, ROOT, "index.html"), html);
  await replaceFolder(outdir, draft);
}

async function replaceFolder(path: string, draft: string): Promise<void> {
  const old = `${draft}.old`;
  await rename(path, old).catch(unless("ENOENT"));
  // Another process may have finished the same files first.
  await rename(draft, path).catch(unless("ENOTEMPTY", "EEXIST"));
  for (const left of [draft, old]) await rm(left, { recursive: true, force: true });
}

function unless(...codes: string[]) {
  return (error: NodeJS.ErrnoException) => {
    if (!codes.includes(error.code ?? "")) throw error;
  };
}

/** @returns the name of the entry's file */
async function bundlePages(outdir: string): Promise<string> {
  const { metafile } = await build({
    entryPoints: [ENTRY],
    outdir,
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17.2"],
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    tsconfig: `${SOURCE}/tsconfig.json`,
    logLevel: "error",
  });
  // The output of a page has an entry point too, because it is imported only when the page is opened.
  const isEntry = ([, { entryPoint }]: [string, { entryPoint?: string }]) => entryPoint === ENTRY;
  const [entry] = Object.entries(metafile.outputs).find(isEntry) ?? [];
  if (entry === undefined) throw new Error("esbuild wrote no entry of the console");
  // `console-sizes.ts` reads it.
  await writeFile("dist/console-meta.json", JSON.stringify(metafile));
  return entry.split("/").at(-1) ?? entry;
}

async function writeStyles(outdir: string): Promise<string> {
  const compiler = await compile(await readFile(`${SOURCE}/styles/console.css`, "utf8"), {
    base: `${SOURCE}/styles`,
    loadStylesheet: async (id, base) => {
      const path = id.startsWith("tailwindcss/") ? tailwindSheet(id) : join(base, id);
      return { path, base: dirname(path), content: await readFile(path, "utf8") };
    },
  });
  const candidates = new Set<string>();
  for await (const path of glob(`${SOURCE}/**/*.tsx`)) {
    for (const word of (await readFile(path, "utf8")).split(/[\s"'`<>={};]+/)) candidates.add(word);
  }
  const { outputFiles } = await build({
    stdin: { contents: compiler.build([...candidates]), loader: "css" },
    minify: true,
    write: false,
    logLevel: "error",
  });
  const code = outputFiles[0]?.text;
  if (!code) throw new Error("esbuild wrote no styles of the console");
  const hash = createHash("sha256").update(code).digest("hex").slice(0, 8).toUpperCase();
  const name = `console-${hash}.css`;
  await writeFile(`${outdir}/${name}`, code);
  return name;
}

function tailwindSheet(id: string): string {
  return createRequire(import.meta.url).resolve(id);
}
