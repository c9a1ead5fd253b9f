import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { body, operationWithTag } from "../../shared/schema.ts";
import { agentServerUrl } from "../access/agent-urls.ts";
import { uiPage } from "./page.ts";
import { UiFilePath, UiPath, UiRequest } from "./schema.ts";
import { findUi, getUiFile } from "./service.ts";

const UI = "/agents/{deployment_id}/ui/{agent}";
const operation = operationWithTag("UI");

export const uiRoutes = router();

uiRoutes.openapi(
  operation("post", UI, "getUi", {
    summary: "Get a UI component",
    description: "Returns HTML that loads and renders a component of an agent.",
    request: { params: UiPath, body: body(UiRequest) },
    responses: {
      200: {
        content: { "text/html": { schema: z.string(), example: '<link rel="stylesheet" ...>' } },
        description: "HTML with links and scripts",
      },
    },
  }),
  async (c) => {
    const ref = c.req.valid("param");
    const { agent, files } = await findUi(c.var.ctx, ref);
    const source = { server_url: agentServerUrl(c.req.raw, c.env, ref.deployment_id), agent };
    return c.html(uiPage(source, files, c.req.valid("json").name), 200);
  },
);

/** Mounted before authentication: script tags send no key. */
export const uiFileRoutes = router();

uiFileRoutes.openapi(
  operation("get", `${UI}/{file}`, "getUiFile", {
    summary: "Get a UI file",
    description:
      "Returns a script or a style sheet of an agent's UI components. Needs no API key, because pages load it with a script tag.",
    security: [],
    request: { params: UiFilePath },
    responses: {
      200: {
        content: {
          "text/javascript": { schema: z.string(), example: "export default ..." },
          "text/css": { schema: z.string(), example: ".card { color: teal }" },
        },
        description: "The file",
      },
      304: { description: "Not modified" },
    },
  }),
  async (c) => {
    const { text, type, etag } = await getUiFile(c.env, c.req.valid("param"));
    // Clients revalidate each time, because the active revision may change.
    const headers = {
      ETag: etag,
      "Cache-Control": "no-cache",
      "X-Content-Type-Options": "nosniff",
    };
    if (isNamed(etag, c.req.header("If-None-Match"))) return c.body(null, 304, headers);
    return c.body(text, 200, { ...headers, "Content-Type": type });
  },
);

// Compares weakly, as RFC 9110 13.1.2 requires: compression on the way makes a tag weak, `W/"..."`.
function isNamed(etag: string, header = ""): boolean {
  const tags: string[] = header.match(/"[^"]*"/g) ?? [];
  return header.trim() === "*" || tags.includes(etag);
}
