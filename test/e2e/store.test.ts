import { beforeAll, describe, expect, test } from "vitest";
import { client, lines } from "./support/clients.ts";
import { request } from "./support/http.ts";
import { killWorker, stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

const keysOf = ({ items }: { items: { key: string }[] }) => items.map(({ key }) => key);

describe.each(lines)("the SDK %s", (line, sdk) => {
  const root = `e2e-${line.replaceAll(".", "-")}`;

  test("puts, gets, searches, lists and deletes", async () => {
    const { store } = sdk(deployment_id);
    const namespace = [root, "people"];
    expect(await store.getItem(namespace, "ada")).toBeNull();
    await store.putItem(namespace, "ada", { age: 36, text: "likes soup" });
    await store.putItem(namespace, "bob/ö", { age: 40, text: "likes songs" }, { ttl: 60 });
    const item = await store.getItem(namespace, "bob/ö", { refreshTtl: false });
    expect(item).toMatchObject({ namespace, key: "bob/ö", value: { age: 40 } });
    expect(Date.parse(item?.createdAt ?? "")).toBeGreaterThan(0);
    expect(keysOf(await store.searchItems([root]))).toEqual(["bob/ö", "ada"]);
    const filter = { age: { $gte: 37 } };
    expect(keysOf(await store.searchItems([root], { filter }))).toEqual(["bob/ö"]);
    expect(keysOf(await store.searchItems([root], { limit: 1, offset: 1 }))).toEqual(["ada"]);
    expect(await store.listNamespaces({ prefix: [root], maxDepth: 1 })).toEqual({
      namespaces: [[root]],
    });
    await store.deleteItem(namespace, "ada");
    await store.deleteItem(namespace, "ada");
    expect(await store.getItem(namespace, "ada")).toBeNull();
    await expect(store.putItem([], "k", {})).rejects.toThrow("HTTP 400: Namespace is required");
    await expect(store.putItem([root, ""], "k", {})).rejects.toThrow("HTTP 422: namespace");
  });

  test("finds by meaning with the embedding that the repository brings", async () => {
    const { store } = sdk(deployment_id);
    const namespace = [root, "texts"];
    await store.putItem(namespace, "cat", { text: "a cat and a kitten" });
    await store.putItem(namespace, "soup", { text: "soup and pizza" });
    await store.putItem(namespace, "hidden", { text: "cat" }, { index: false });
    const { items } = await store.searchItems(namespace, { query: "animal" });
    expect(items.map(({ key }) => key)).toEqual(["cat", "soup"]);
    expect(items[0]?.score).toBeGreaterThan(0.9);
  });

  test("a graph and its clients see the same store", async () => {
    const { store, runs } = sdk(deployment_id);
    const namespace = [root, "shared"];
    await store.putItem(namespace, "outside", { n: 1 });
    const input = {
      calls: [
        ["get", namespace, "outside"],
        ["put", namespace, "inside", { n: 2 }],
      ],
      later: [["search", namespace, { filter: { n: { $gt: 1 } } }]],
    };
    const result = await runs.wait(null, "stores", { input });
    expect(result).toMatchObject({
      answers: [{ key: "outside", value: { n: 1 } }, null],
      after: [[{ key: "inside", value: { n: 2 } }]],
    });
    expect(await store.getItem(namespace, "inside")).toMatchObject({ value: { n: 2 } });
  });
});

test("an acknowledged item survives a crash", async () => {
  const { store } = client(deployment_id, { maxRetries: 4 });
  await store.putItem(["crash"], "k", { n: 1 });
  await killWorker();
  await until(
    "The Worker's return",
    () => request("GET", "/ok").catch(() => ({ status: 0 })),
    ({ status }) => status === 200,
  );
  expect(await store.getItem(["crash"], "k")).toMatchObject({ value: { n: 1 } });
});

test("PUT and DELETE answer 204 without a body, and a read of nothing is null", async () => {
  const url = `${stack.base_url}/agents/${deployment_id}/store/items`;
  const headers = { "X-Api-Key": stack.api_key, "Content-Type": "application/json" };
  const item = { namespace: ["raw"], key: "k" };
  const put = { method: "PUT", headers, body: JSON.stringify({ ...item, value: {} }) };
  const remove = { method: "DELETE", headers, body: JSON.stringify(item) };
  for (const init of [put, remove]) {
    const response = await fetch(url, init);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  }
  const read = await fetch(`${url}?namespace=raw&key=k`, { headers });
  expect([read.status, await read.json()]).toEqual([200, null]);
});
