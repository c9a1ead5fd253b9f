import { describe, expect, test } from "vitest";
import { MAX_TTL_MS } from "../../../src/agent-server/store/storage/limits.ts";
import { MAX_TTL_MINUTES } from "../../../src/agent-server/threads/contract/ttl.ts";
import { parseEnv, readConfig } from "../../../src/control-plane/builds/config/config.ts";
import { emptyTree, type Tree } from "../../../src/control-plane/builds/tree.ts";

function tree(files: Record<string, string>): Tree {
  const made = emptyTree();
  for (const [path, text] of Object.entries(files)) {
    made.files.set(path, new TextEncoder().encode(text));
  }
  return made;
}

const NO_STORE = { index: null, ttl: { default_ms: null, refresh_on_read: true } };

function read(config: unknown, files: Record<string, string> = { "src/agent.ts": "" }) {
  return readConfig(
    tree({ "langgraph.json": JSON.stringify(config), ...files }),
    "./langgraph.json",
  );
}

test.each([
  [
    "langgraph.json",
    { graphs: { a: "src/agent.ts" }, more: "x".repeat(300_000) },
    /langgraph.json has 300/,
  ],
  ["an .env file", { graphs: { a: "src/agent.ts" }, env: "big.env" }, /big.env has 300/],
])("%s beyond its limit is refused", (_, config, text) => {
  const files = { "src/agent.ts": "", "big.env": "x".repeat(300_000) };
  expect(() => read(config, files)).toThrow(text);
});

const MODULES = '[submodule "lib"]\n\tpath = "lib"\n';

test.each([
  ["src/agent.ts is a Git LFS pointer", "src/agent.ts", {}],
  ["lib/agent.ts is in the git submodule lib", "lib/agent.ts", {}],
  ["lib/agent.ts, which does not exist", "lib/agent.ts", { "lib/other.ts": "" }],
])("a graph whose file %s is not found", (text, path, files: Record<string, string>) => {
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  const source = { ".gitmodules": MODULES, "src/agent.ts": pointer, ...files };
  expect(() => read({ graphs: { a: path } }, source)).toThrow(
    expect.objectContaining({
      reason: "graph_not_found",
      message: expect.stringContaining(text),
    }),
  );
});

test("a config that is nested too deep to be stored is refused", () => {
  const deep = `{"graphs": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  expect(() => readConfig(tree({ "langgraph.json": deep }), "langgraph.json")).toThrow(/nested/);
});

test.each([
  ["./src/agent.ts:graph", { path: "src/agent.ts", export_name: "graph" }],
  ["src/agent.ts", { path: "src/agent.ts", export_name: "default" }],
  ["src/agent.ts:", { path: "src/agent.ts", export_name: "default" }],
  ["./src/../src/agent.js:graph", { path: "src/agent.ts", export_name: "graph" }],
])("graph %j", (path, graph) => {
  expect(read({ graphs: { a: path } }).graphs).toEqual({ a: { ...graph, description: null } });
});

test("paths start where the config is, and the whole file is kept", () => {
  const config = { graphs: { a: { path: "./agent.ts:g", description: "A" } }, node_version: "20" };
  const files = { "apps/x/langgraph.json": JSON.stringify(config), "apps/x/agent.ts": "" };
  expect(readConfig(tree(files), "apps/x/langgraph.json")).toEqual({
    folder: "apps/x",
    graphs: { a: { path: "apps/x/agent.ts", export_name: "g", description: "A" } },
    app: null,
    auth: null,
    env: {},
    store: NO_STORE,
    ui: { entries: {}, shared: [] },
    raw: config,
  });
});

test.each([
  [[], "config_invalid", "langgraph.json: the file must be an object; it is a list."],
  [{}, "config_invalid", '"graphs" must be an object like'],
  [{ graphs: {} }, "config_invalid", '"graphs" must have at least one graph'],
  [{ graphs: { a: 1 } }, "config_invalid", '"graphs.a" must be "file:export"'],
  [{ graphs: { a: { path: "x.ts", description: 1 } } }, "config_invalid", '"graphs.a.description"'],
  [{ graphs: { a: "agent.py:g" } }, "unsupported_language", 'graph "a" is Python (agent.py)'],
  [{ graphs: { a: "my_agent:g" } }, "unsupported_language", "is Python"],
  [{ graphs: { a: "./src/agent:g" } }, "config_invalid", "in src/agent.ts: name the file with"],
  [{ graphs: { a: "agent.rb" } }, "config_invalid", "neither JavaScript nor TypeScript"],
  [{ graphs: { a: "src/other.ts" } }, "graph_not_found", "There is src/agent.ts."],
  [{ graphs: { a: "src/agent.ts" }, env: 1 }, "config_invalid", '"env" must be'],
  [{ graphs: { a: "src/agent.ts" }, env: { A: {} } }, "config_invalid", '"env.A" must be text'],
])("config %j is refused as %s", (config, reason, text) => {
  expect(() => read(config)).toThrow(
    expect.objectContaining({ reason, message: expect.stringContaining(text) }),
  );
});

test("the store has an index and a time to live", () => {
  const graphs = { a: "src/agent.ts" };
  const files = { "src/agent.ts": "", "src/embed.ts": "" };
  const store = (value: unknown) => read({ graphs, store: value }, files).store;
  expect(store(null)).toEqual(NO_STORE);
  const index = { dims: 3, embed: "./src/embed.js:vectors" };
  const fields = ["$", "a[0].b", "a[-1]", "a[*][*].b", "{a[2],b}", "*"];
  expect(store({ index: { ...index, fields } }).index?.fields).toEqual(fields);
  expect(store({ index, ttl: { default_ttl: 1.5, refresh_on_read: false } })).toEqual({
    index: { path: "src/embed.ts", export_name: "vectors", dims: 3, fields: ["$"] },
    ttl: { default_ms: 90_000, refresh_on_read: false },
  });
});

test.each([
  [[], '"store" must be an object'],
  [{ index: true }, '"store.index" must be an object'],
  [{ index: { embed: "src/embed.ts:e" } }, '"store.index.dims" must be a whole number'],
  [{ index: { dims: 3 } }, '"store.index.embed" must be "file:export"'],
  [{ index: { dims: 3, embed: "openai:text-embedding-3-small" } }, 'like "./src/embed.ts:embed"'],
  [{ index: { dims: 3, embed: "src/none.ts:e" } }, "src/none.ts, which does not exist"],
  [{ index: { dims: 3, embed: "src/agent.ts", fields: "text" } }, '"store.index.fields"'],
  ...["a[]", "a[x]", "a[1.5]", "{b,a[ ]}", "a[*"].map((field): [object, string] => [
    { index: { dims: 3, embed: "src/agent.ts", fields: ["text", field] } },
    `"store.index.fields" must be paths whose indexes are integers or *, like "parts[0]" and "parts[*].text"; it is "${field}"`,
  ]),
  [{ ttl: { default_ttl: -1 } }, '"store.ttl.default_ttl" must be minutes'],
  [{ ttl: { default_ttl: MAX_TTL_MS / 60_000 + 1 } }, '"store.ttl.default_ttl" must be minutes'],
  [{ ttl: { refresh_on_read: 1 } }, '"store.ttl.refresh_on_read"'],
])("store %j is refused", (store, text) => {
  expect(() => read({ graphs: { a: "src/agent.ts" }, store })).toThrow(
    expect.objectContaining({ reason: "config_invalid", message: expect.stringContaining(text) }),
  );
});

test.each([
  [{ ttl: { default_ttl: "60" } }, '"checkpointer.ttl.default_ttl" must be minutes'],
  [{ ttl: { default_ttl: MAX_TTL_MINUTES + 1 } }, '"checkpointer.ttl.default_ttl" must be minutes'],
  [
    { ttl: { strategy: "archive" } },
    '"checkpointer.ttl.strategy" must be "delete" or "keep_latest"',
  ],
  [{ ttl: 60 }, '"checkpointer.ttl" must be an object'],
])("checkpointer %j is refused", (checkpointer, text) => {
  expect(() => read({ graphs: { a: "src/agent.ts" }, checkpointer })).toThrow(
    expect.objectContaining({ reason: "config_invalid", message: expect.stringContaining(text) }),
  );
});

test("the longest times to live that the agent server accepts are accepted", () => {
  const checkpointer = { ttl: { default_ttl: MAX_TTL_MINUTES, sweep_interval_minutes: 5 } };
  const store = { ttl: { default_ttl: MAX_TTL_MS / 60_000 } };
  const config = read({ graphs: { a: "src/agent.ts" }, checkpointer, store });
  expect(config.store.ttl.default_ms).toBe(MAX_TTL_MS);
});

test("auth is an export of the source", () => {
  const graphs = { a: "src/agent.ts" };
  const files = { "src/agent.ts": "", "src/auth.ts": "" };
  const auth = (value: unknown) => read({ graphs, auth: value }, files).auth;
  expect(auth({ path: "./src/auth.js:auth", disable_studio_auth: true })).toEqual({
    path: "src/auth.ts",
    export_name: "auth",
  });
  expect(auth({ path: "src/auth.ts" })).toEqual({ path: "src/auth.ts", export_name: "default" });
  expect(auth(null)).toBeNull();
  expect(auth({})).toBeNull();
});

test.each([
  ["./src/auth.ts:auth", "config_invalid", '"auth" must be an object'],
  [{ path: 1 }, "config_invalid", '"auth.path" must be "file:export" of an Auth'],
  [{ path: "src/none.ts:auth" }, "config_invalid", "src/none.ts, which does not exist"],
  [{ path: "./auth.py:auth" }, "unsupported_language", '"auth.path" is Python (./auth.py)'],
  [{ disable_studio_auth: "yes" }, "config_invalid", '"auth.disable_studio_auth" must be true'],
])("auth %j is refused", (auth, reason, text) => {
  expect(() => read({ graphs: { a: "src/agent.ts" }, auth })).toThrow(
    expect.objectContaining({ reason, message: expect.stringContaining(text) }),
  );
});

test("http has an app and settings", () => {
  const graphs = { a: "src/agent.ts" };
  const files = { "src/agent.ts": "", "src/app.ts": "" };
  const cors = { allow_origins: ["*"], allow_origin_regex: "https://.*", max_age: 1 };
  const http = { app: "./src/app.ts:app", cors, disable_store: true, mount_prefix: "/my/agent" };
  expect(read({ graphs, http }, files).app).toEqual({ path: "src/app.ts", export_name: "app" });
  expect(read({ graphs, http: null }).app).toBeNull();
});

test.each([
  [{ app: "app.py:app" }, "unsupported_language", '"http.app" is Python'],
  [{ app: "src/none.ts:app" }, "config_invalid", "src/none.ts, which does not exist"],
  [{ disable_runs: "no" }, "config_invalid", '"http.disable_runs" must be true or false'],
  [{ mount_prefix: "agent/" }, "config_invalid", '"http.mount_prefix" must be a path'],
  [{ middleware_order: "last" }, "config_invalid", '"http.middleware_order" must be'],
  [{ cors: true }, "config_invalid", '"http.cors" must be an object'],
  [{ cors: { allow_origins: "*" } }, "config_invalid", '"http.cors.allow_origins" must be a list'],
  [{ cors: { allow_origin_regex: "(" } }, "config_invalid", "must be a regular expression"],
  [{ cors: { max_age: -1 } }, "config_invalid", '"http.cors.max_age" must be a number of seconds'],
  [
    { configurable_headers: { includes: "x" } },
    "config_invalid",
    '"http.configurable_headers.includes"',
  ],
])("http %j is refused", (http, reason, text) => {
  expect(() => read({ graphs: { a: "src/agent.ts" }, http })).toThrow(
    expect.objectContaining({ reason, message: expect.stringContaining(text) }),
  );
});

test("env is an object, or a file of the repository that may be missing", () => {
  const graphs = { a: "src/agent.ts" };
  expect(read({ graphs, env: { A: "x", B: 1 } }).env).toEqual({ A: "x", B: "1" });
  const files = { "src/agent.ts": "", ".env": "A=1" };
  expect(read({ graphs, env: ".env" }, files).env).toEqual({ A: "1" });
  expect(read({ graphs, env: ".env" }).env).toEqual({});
});

test("an env file has comments, quotes and exports", () => {
  const text = [
    "# comment",
    "A=1",
    "export B = two words # not this",
    'C="x # y\\nz"',
    "D='$x'",
    "E=",
    "no equals",
  ];
  expect(parseEnv(text.join("\n"))).toEqual({
    A: "1",
    B: "two words",
    C: "x # y\nz",
    D: "$x",
    E: "",
  });
});

test("line ends of an .env are those of dotenv", () => {
  const text = 'KEY="-----BEGIN\r\nabc\r\n-----END"\r\nA=1\rB=\'x\r\ny\'\r\nC="x\\r\\ny"\r\n';
  const KEY = "-----BEGIN\nabc\n-----END";
  expect(parseEnv(text)).toEqual({ KEY, A: "1", B: "x\ny", C: "x\r\ny" });
});

/** Each value is the one of dotenv 17.4.2. */
test.each<[string, Record<string, string>]>([
  ['A="{"model":"x"}"\nB=1', { A: '{"model":"x"}', B: "1" }],
  ["A='tis\nB='x'", { A: "'tis", B: "x" }],
  ["A=it's\nB=\"", { A: "it's", B: '"' }],
  ['A="x" # y\nB="x"#y\nC="x" y', { A: "x", B: "x", C: '"x" y' }],
  ['A=x#y\nB=#y\nC="x#y', { A: "x", B: "", C: '"x' }],
  ['A="a\nb" c\nB=1', { A: '"a', B: "1" }],
  ['A="a\\nb" c', { A: '"a\nb" c' }],
  ['A="{\\"a\\": 1}"', { A: '{\\"a\\": 1}' }],
  ["A='a\\'b'\nB='x\\n'", { A: "a\\'b", B: "x\\n" }],
  ['A="C:\\dir\\"\nB="x"', { A: "C:\\dir\\", B: "x" }],
  ["A=`a'b\"c`\nB=`x", { A: "a'b\"c", B: "`x" }],
  ["A: 1\nB : 2\nC:3", { A: "1" }],
  ["A=\n'x'", { A: "x" }],
  ["\n\n\t export   A = 1\nA b=1\n1=2", { A: "1", 1: "2" }],
])("an .env of %j has the values of dotenv", (text, values) => {
  expect(parseEnv(text)).toEqual(values);
});

test("components are read with the packages that their page has", () => {
  const files = { "src/agent.ts": "", "src/ui.tsx": "" };
  const ui = { agent: "./src/ui.tsx" };
  const config = { graphs: { agent: "./src/agent.ts:graph" }, ui };
  expect(read({ ...config, ui_config: { shared: ["zustand"] } }, files).ui).toEqual({
    entries: { agent: "src/ui.tsx" },
    shared: ["zustand"],
  });
  expect(read({ graphs: config.graphs }, files).ui).toEqual({ entries: {}, shared: [] });
});

test.each([
  [{ ui: "./ui.tsx" }, /"ui" must be an object/],
  [{ ui: { agent: 7 } }, /"ui.agent" must be a file/],
  [{ ui: { agent: "./ui.css" } }, /"ui.agent" must be a file/],
  [{ ui: { agent: "./gone.tsx" } }, /"ui.agent" is gone.tsx, which does not exist/],
  [{ ui_config: { shared: "react" } }, /"ui_config.shared" must be a list/],
])("components that cannot be read are refused: %j", (more, text) => {
  expect(() => read({ graphs: { a: "src/agent.ts" }, ...more })).toThrow(text);
});

describe("webhooks", () => {
  const graphs = { a: "src/agent.ts" };

  test("are kept as they are written", () => {
    const webhooks = {
      env_prefix: "HOOK_",
      url: {
        require_https: true,
        allowed_domains: ["hooks.example.com", "*.example.org", "müller.example"],
        allowed_ports: [443, 8443],
        max_url_length: 200,
        disable_loopback: false,
      },
      headers: { "X-Env": "prod", Authorization: `Bearer \${{ env.HOOK_TOKEN }}-\${{env.HOOK_B}}` },
    };
    expect(read({ graphs, webhooks }).raw.webhooks).toEqual(webhooks);
    expect(read({ graphs, webhooks: { headers: { a: `\${{ env.LG_WEBHOOK_A }}` } } }).raw).toEqual({
      graphs,
      webhooks: { headers: { a: `\${{ env.LG_WEBHOOK_A }}` } },
    });
  });

  test.each<[unknown, string]>([
    [true, '"webhooks" must be an object'],
    [{ env_prefix: "" }, '"webhooks.env_prefix" must be the beginning of names'],
    [{ url: [] }, '"webhooks.url" must be an object; it is a list.'],
    [{ url: { require_https: "yes" } }, '"webhooks.url.require_https" must be true or false'],
    [{ url: { disable_loopback: 1 } }, '"webhooks.url.disable_loopback" must be true or false'],
    [{ url: { allowed_domains: "a.example" } }, '"webhooks.url.allowed_domains" must be a list'],
    [{ url: { allowed_domains: ["https://a.example"] } }, "without scheme or port; it is"],
    [{ url: { allowed_domains: ["a.*.example"] } }, '"webhooks.url.allowed_domains" must be'],
    [{ url: { allowed_ports: ["443"] } }, '"webhooks.url.allowed_ports" must be a list of ports'],
    [{ url: { allowed_ports: [70_000] } }, "from 1 to 65535"],
    [{ url: { max_url_length: 0 } }, '"webhooks.url.max_url_length" must be a whole number'],
    [{ headers: ["x"] }, '"webhooks.headers" must be an object'],
    [{ headers: { "x y": "" } }, '"webhooks.headers.x y" is not a valid header name.'],
    [{ headers: { "Webhook-Signature": "v1" } }, "is set by Heddle with each webhook"],
    [{ headers: { a: 1 } }, '"webhooks.headers.a" must be one line of ASCII text; it is 1.'],
    [{ headers: { a: "x\ny" } }, "must be one line of ASCII text"],
    [
      { headers: { a: `\${{ env.OPENAI_API_KEY }}` } },
      'env.OPENAI_API_KEY, which does not begin with LG_WEBHOOK_; rename it, or set "webhooks.env_prefix".',
    ],
    [
      { env_prefix: "MY_", headers: { a: `\${{ env.MY_A }}\${{ env.LG_WEBHOOK_A }}` } },
      "env.LG_WEBHOOK_A, which does not begin with MY_",
    ],
    [{ headers: { a: `\${{ secrets.A }}` } }, `not of the form \${{ env.LG_WEBHOOK_NAME }}.`],
    [{ headers: { a: `\${{ env.LG_WEBHOOK_A` } }, "has a template that is not of the form"],
  ])("%j are refused", (webhooks, text) => {
    expect(() => read({ graphs, webhooks })).toThrow(
      expect.objectContaining({
        reason: "config_invalid",
        message: expect.stringContaining(text),
      }),
    );
  });
});
