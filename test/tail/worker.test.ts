import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import tail from "../../src/tail/worker.ts";

const failed = { outcome: "exceededMemory", logs: [], exceptions: [], event: null } as never;

/** The bucket, whose first calls fail. */
function failing(times: number) {
  const keys: string[] = [];
  const put = async (key: string, bytes: ArrayBuffer) => {
    if (keys.push(key) <= times) throw new Error("put: internal error (10001)");
    return await env.ARTIFACTS.put(key, bytes);
  };
  return { keys, ARTIFACTS: { put } as never };
}

test("a write that R2 refuses is repeated under its key", async () => {
  const { keys, ARTIFACTS } = failing(2);
  await tail.tail([failed], { ARTIFACTS });
  const [key = "", ...repeated] = keys;
  expect(repeated).toEqual([key, key]);
  const object = await env.ARTIFACTS.get(key);
  const text = object?.body.pipeThrough(new DecompressionStream("gzip"));
  expect(await new Response(text).json()).toMatchObject({ outcome: "exceededMemory" });
  await env.ARTIFACTS.delete(key);
});

test("events without lines write nothing", async () => {
  const { keys, ARTIFACTS } = failing(0);
  const quiet = { ...(failed as object), outcome: "ok" } as never;
  await tail.tail([quiet, quiet], { ARTIFACTS });
  expect(keys).toEqual([]);
});
