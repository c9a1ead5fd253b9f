import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";

/** A package's name in the page -> the one that it is bundled with. */
type Alias = Record<string, string>;

export type Pages = { url: string; close(): Promise<void> };

/** Serves each entry as a page at `/{name}` on a separate origin, like a frontend's host. */
export async function servePages(
  pages: Record<string, { entry: string; alias?: Alias }>,
): Promise<Pages> {
  const scripts = new Map<string, string>();
  for (const [name, { entry, alias }] of Object.entries(pages)) {
    scripts.set(`/${name}.js`, await bundlePage(entry, alias ?? {}));
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const script = scripts.get(pathname);
    if (script !== undefined) {
      response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    } else if (scripts.has(`${pathname}.js`)) {
      response.writeHead(200, { "content-type": "text/html" }).end(html(pathname));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** An empty icon, so that no browser requests one. */
const html = (path: string) =>
  `<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script src="${path}.js"></script>`;

async function bundlePage(entry: string, alias: Alias): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    jsx: "automatic",
    alias,
    define: { "process.env.NODE_ENV": '"development"' },
  });
  const [output] = outputFiles;
  if (!output) throw new Error("esbuild gave no output");
  return output.text;
}
