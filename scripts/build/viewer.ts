import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const compress = promisify(gzip);

const FILES = { "swagger-ui-bundle.js": "viewer.js.bin", "swagger-ui.css": "viewer.css.bin" };

/** Writes the script and the style sheet of the page at /docs, gzipped as they are served. */
export async function buildViewer(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const [source, target] of Object.entries(FILES)) {
    const bytes = await readFile(join("node_modules/swagger-ui-dist", source));
    await writeFile(join(dir, target), await compress(bytes, { level: 9 }));
  }
}
