import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { html, raw } from "hono/html";
import { NONCE } from "hono/secure-headers";
import viewerCss from "../../dist/docs/viewer.css.bin";
import viewerJs from "../../dist/docs/viewer.js.bin";
import type { AppEnv } from "../shared/context.ts";
import { pageHeaders } from "../shared/http/page-headers.ts";

const VIEWER = {
  "/docs/viewer.js": { bytes: viewerJs, type: "text/javascript; charset=utf-8" },
  "/docs/viewer.css": { bytes: viewerCss, type: "text/css; charset=utf-8" },
} as const;

type ViewerFile = keyof typeof VIEWER;
export const VIEWER_FILES: ViewerFile[] = ["/docs/viewer.js", "/docs/viewer.css"];

/**
 * Script that starts the viewer. Without `validatorUrl: null` it would send the document's URL to validator.swagger.io.
 */
const start = (root: string) => `SwaggerUIBundle({
  url: "${root}openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});`;

/** The viewer comes from this Worker, so the page works where the internet does not reach. */
export function addDocs(app: OpenAPIHono<AppEnv>): void {
  app.get("/docs", (c) => docsPage(c, "/"));
  for (const file of VIEWER_FILES) app.get(file, () => viewerFile(file));
}

const protect = pageHeaders({
  scriptSrc: ["'self'", NONCE],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", "data:"],
  connectSrc: ["'self'"],
  formAction: ["'none'"],
});

/** `root`: prefix of the URLs of the document and the viewer. `/` is the root of the host, `""` the folder of the page. */
export async function docsPage(c: Context<AppEnv>, root: "/" | "") {
  await protect(c, async () => {
    c.res = await c.html(page(c.var.secureHeadersNonce ?? "", root));
  });
  return c.res;
}

export function viewerFile(file: ViewerFile): Response {
  const { bytes, type } = VIEWER[file];
  const headers = {
    "Content-Type": type,
    "Content-Encoding": "gzip",
    "Cache-Control": "public, max-age=3600",
  };
  return new Response(bytes, { headers, encodeBody: "manual" });
}

function page(nonce: string, root: string) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heddle API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}docs/viewer.css">
</head>
<body>
<div id="viewer"></div>
<script src="${root}docs/viewer.js"></script>
<script nonce="${nonce}">${raw(start(root))}</script>
</body>
</html>`;
}
