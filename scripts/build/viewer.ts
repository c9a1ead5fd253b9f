import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const FILES = { "swagger-ui-bundle.js": "viewer.js.bin", "swagger-ui.css": "viewer.css.bin" };

/** The page of /docs, gzipped as it is served. */
export function buildViewer(dir: string): void {
  mkdirSync(dir, { recursive: true });
  for (const [source, target] of Object.entries(FILES)) {
    const bytes = readFileSync(join("node_modules/swagger-ui-dist", source));
    writeFileSync(join(dir, target), gzipSync(bytes, { level: 9 }));
  }
}
