// Bundles a script of wrangler's configuration as `wrangler deploy` does: test/node/bundle.test.ts compares them. It
// does so without wrangler, because loading wrangler takes a second of processor time for each bundle.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { build, type Plugin } from "esbuild";

/** @returns paths of the files that the bundle was made of */
export async function bundleScript(main: string, outdir: string, entry: string): Promise<string[]> {
  const copied: string[] = [];
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  const { metafile } = await build({
    entryPoints: [main],
    outdir,
    entryNames: basename(entry, ".js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    supported: { using: true, "import-source": true },
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    keepNames: true,
    sourcemap: true,
    sourceRoot: resolve(outdir),
    define: {
      "process.env.NODE_ENV": '"production"',
      "globalThis.process.env.NODE_ENV": '"production"',
      "navigator.userAgent": '"Cloudflare-Workers"',
    },
    external: ["cloudflare:*", "node:*"],
    plugins: [modules(outdir, copied)],
    metafile: true,
    logLevel: "error",
  });
  return [...Object.keys(metafile.inputs), ...copied];
}

/** Copies modules without JavaScript beside the bundle, under a name with the hash of their content. */
function modules(outdir: string, copied: string[]): Plugin {
  return {
    name: "modules",
    setup({ onResolve, resolve }) {
      onResolve(
        { filter: /\.(txt|bin|wasm)$/ },
        async ({ path, kind, importer, resolveDir, pluginData }) => {
          if (pluginData === "resolving") return;
          const options = { kind, importer, resolveDir, pluginData: "resolving" };
          const { path: file, errors } = await resolve(path, options);
          if (errors.length > 0) return { errors };
          copied.push(file);
          const bytes = await readFile(file);
          const hash = createHash("sha1").update(bytes).digest("hex");
          const name = `${hash}-${basename(file)}`;
          await writeFile(join(outdir, name), bytes);
          return { path: `./${name}`, external: true };
        },
      );
    },
  };
}
