import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Body = { id: string; resources: { id: string }[]; offset: number; detail: string };

const UNKNOWN_ID = "0197f000-0000-7000-8000-000000000000";
const PATH = "/v2/listeners";

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

function input(compute_id: string) {
  return {
    compute_type: "k8s",
    compute_id,
    compute_config: { k8s_namespaces: ["default", "agents-1"] },
  };
}

async function call(method: string, path: string, json?: unknown, key: string | null = ours.admin) {
  const response = await api(path, {
    method,
    ...(key !== null && { key }),
    ...(json === undefined ? {} : { json }),
  });
  const text = await response.text();
  return { status: response.status, text, body: (text ? JSON.parse(text) : null) as Body };
}

test("a listener is created, read, changed, listed and deleted", async () => {
  const created = await call("POST", PATH, input("cluster"));
  expect(created.status).toBe(201);
  const { id } = created.body;
  expect(created.body).toEqual({
    id: expect.any(String),
    version: null,
    ...input("cluster"),
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect((await call("GET", `${PATH}/${id}`)).body).toEqual(created.body);
  const change = { version: "1.2", compute_config: { k8s_namespaces: [] }, compute_id: "cluster" };
  const changed = await call("PATCH", `${PATH}/${id}`, change);
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining(change)]);
  await call("POST", PATH, input("other"));
  const page = await call("GET", `${PATH}?limit=1`);
  expect([page.body.resources.map((one) => one.id), page.body.offset]).toEqual([[id], 1]);
  expect((await call("DELETE", `${PATH}/${id}`)).status).toBe(204);
  const gone = await call("GET", `${PATH}/${id}`);
  expect([gone.status, gone.body.detail]).toEqual([404, `Listener ID ${id} not found.`]);
});

test("a compute id is unique within its workspace", async () => {
  const send = (key: string) => call("POST", PATH, input("same"), key);
  const both = await Promise.all([send(ours.editor), send(ours.editor)]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect(both.find(({ status }) => status === 409)?.body.detail).toBe(
    `Listener for LangSmith workspace ID '${ours.workspace_id}' and compute ID 'same' already exists.`,
  );
  expect((await send(theirs.editor)).status).toBe(201);
});

test.each([
  ["GET", `${PATH}/${UNKNOWN_ID}`, undefined],
  ["PATCH", `${PATH}/${UNKNOWN_ID}`, {}],
  ["DELETE", `${PATH}/${UNKNOWN_ID}`, undefined],
  ["POST", PATH, input("x")],
])("%s %s wants the enterprise plan", async (method, path, json) => {
  const small = await workspace({ plan: "plus" });
  const answer = await call(method, path, json, small.admin);
  expect(answer.status).toBe(403);
  expect(answer.body.detail).toContain(
    `Listeners cannot be created for LangSmith workspace ID '${small.workspace_id}'.`,
  );
  expect((await call("GET", PATH, undefined, small.admin)).body).toEqual({
    resources: [],
    offset: 0,
  });
});

test.each([
  ["GET", undefined, "viewer", 200],
  ["PATCH", {}, "viewer", 403],
  ["PATCH", {}, "editor", 200],
  ["DELETE", undefined, "editor", 403],
] as const)(
  "%s with %j as %s answers %i; no key 401, another workspace 404",
  async (method, json, role, status) => {
    const { body } = await call("POST", PATH, input(crypto.randomUUID()));
    const path = `${PATH}/${body.id}`;
    expect((await call(method, path, json, null)).status).toBe(401);
    expect((await call(method, path, json, theirs.admin)).status).toBe(404);
    expect((await call(method, path, json, ours[role])).status).toBe(status);
  },
);

test.each([
  [{ ...input("a"), compute_type: "vm" }, "compute_type"],
  [{ ...input(""), compute_id: "" }, "compute_id"],
  [{ ...input("a"), compute_config: { k8s_namespaces: ["Upper"] } }, "k8s_namespaces"],
  [{ ...input("a"), compute_config: undefined }, "compute_config"],
])("%j is refused", async (json, field) => {
  const answer = await call("POST", PATH, json);
  expect(answer.status).toBe(422);
  expect(answer.text).toContain(field);
});

test("the compute id of a listener cannot change, and a viewer cannot create a listener", async () => {
  const { body } = await call("POST", PATH, input("fixed"));
  const answer = await call("PATCH", `${PATH}/${body.id}`, { compute_id: "moved" });
  expect(answer.status).toBe(422);
  expect(answer.text).toContain("cannot change");
  expect((await call("POST", PATH, input("x"), ours.viewer)).status).toBe(403);
  expect((await call("GET", PATH, undefined, null)).status).toBe(401);
});
