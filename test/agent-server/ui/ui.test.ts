import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const SCRIPT = "var __LGUI_echo = {};";
const STYLES = ".a{}";

let ours: TestWorkspace;
let ids: Awaited<ReturnType<typeof testDeployment>>;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  ids = await testDeployment(ours.workspace_id);
  agent = `/agents/${ids.deployment_id}`;
  const bundles = {
    echo: { "entrypoint.js": SCRIPT, "entrypoint.css": STYLES },
    "my-agent's": { "entrypoint.js": "var x;" },
  };
  // The files that a build writes beside its artifact.
  await env.ARTIFACTS.put(`artifacts/${ids.revision_id}.ui.json`, JSON.stringify(bundles));
});

const page = async (of: string, name = "card", base = agent) => {
  const path = `${base}/ui/${encodeURIComponent(of)}`;
  const response = await api(path, { key: ours.viewer, json: { name } });
  return { status: response.status, html: await response.text() };
};

describe("the page of a component", () => {
  test("links its styles and loads its script, which draws it", async () => {
    const { status, html } = await page("echo");
    const base = `//heddle.test${agent}/ui/echo`;
    expect([status, html.split("\n")]).toEqual([
      200,
      [
        `<link rel="stylesheet" href="${base}/entrypoint.css" />`,
        `<script src="${base}/entrypoint.js" onload='__LGUI_echo.render("card", "{{shadowRootId}}")'></script>`,
      ],
    ]);
  });

  test("is the same for an assistant of the graph, and at a revision's own URL", async () => {
    const made = await api(`${agent}/assistants`, { key: ours.editor, json: { graph_id: "echo" } });
    const { assistant_id } = await made.json<{ assistant_id: string }>();
    expect((await page(assistant_id)).html).toBe((await page("echo")).html);
    const base = `${agent}/revisions/${ids.revision_id}`;
    expect((await page("echo", "card", base)).html).toContain(`//heddle.test${base}/ui/echo/`);
  });

  test("over http is loaded over http on localhost", async () => {
    const path = `http://localhost:8080${agent}/ui/echo`;
    const response = await api(path, { key: ours.viewer, json: { name: "card" } });
    expect(await response.text()).toContain(`src="http://localhost:8080${agent}/ui/echo/`);
  });

  test("has nothing of a name that could break out of it", async () => {
    const evil = `"'></script><script>alert(1)</script>`;
    const { html } = await page("echo", evil);
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html).not.toContain("'></script><script>");
    const { html: other } = await page("my-agent's");
    expect(other).toContain("onload='__LGUI_my_agent_s.render(");
    expect(other).toContain("/ui/my-agent's/entrypoint.js");
  });

  test("is 404 for an agent without components, and for an unknown agent", async () => {
    expect(await page("steps")).toEqual({
      status: 404,
      html: 'UI not found for agent "steps"',
    });
    expect((await page("nobody")).status).toBe(404);
    expect((await page("constructor")).status).toBe(404);
  });

  test("wants a name", async () => {
    const response = await api(`${agent}/ui/echo`, { key: ours.viewer, json: {} });
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringContaining("body.name"),
    ]);
  });
});

describe("a file", () => {
  test.each([
    ["entrypoint.js", "text/javascript", SCRIPT],
    ["entrypoint.css", "text/css", STYLES],
  ])("%s is for every page, without a key", async (file, type, text) => {
    const response = await api(`${agent}/ui/echo/${file}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toContain(type);
    expect(await response.text()).toBe(text);
    const etag = response.headers.get("ETag") ?? "";
    for (const header of [etag, `W/${etag}`, `"other", W/${etag}`, "*"]) {
      const headers = { "If-None-Match": header };
      const again = await api(`${agent}/ui/echo/${file}`, { headers });
      expect([header, again.status, await again.text()]).toEqual([header, 304, ""]);
    }
    const headers = { "If-None-Match": '"other"' };
    expect(await (await api(`${agent}/ui/echo/${file}`, { headers })).text()).toBe(text);
  });

  test.each(["echo/other.js", "echo/constructor", "steps/entrypoint.js", "__proto__/x.js"])(
    "that is not there is a 404: %s",
    async (path) => {
      const response = await api(`${agent}/ui/${path}`);
      expect([response.status, await response.text()]).toEqual([404, `File not found: ${path}`]);
    },
  );

  test("of no deployment is a 404", async () => {
    const response = await api(`/agents/${crypto.randomUUID()}/ui/echo/entrypoint.js`);
    expect(response.status).toBe(404);
    await response.text();
  });
});

test("responds 404 when the configuration disables it", async () => {
  const off = await testDeployment(ours.workspace_id, { http: { disable_ui: true } });
  const bundles = { echo: { "entrypoint.js": SCRIPT } };
  await env.ARTIFACTS.put(`artifacts/${off.revision_id}.ui.json`, JSON.stringify(bundles));
  const base = `/agents/${off.deployment_id}`;
  expect((await page("echo", "card", base)).status).toBe(404);
  const file = await api(`${base}/ui/echo/entrypoint.js`);
  expect([file.status, await file.text()]).toEqual([404, "File not found: echo/entrypoint.js"]);
});
