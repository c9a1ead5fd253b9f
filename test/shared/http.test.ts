import { createRoute, z } from "@hono/zod-openapi";
import { afterEach, describe, expect, test, vi } from "vitest";
import { onError } from "../../src/error-responses.ts";
import { AppError } from "../../src/shared/errors.ts";
import { router } from "../../src/shared/http/http.ts";
import { toByteStream } from "../../src/shared/http/sse.ts";
import { body, json } from "../../src/shared/schema.ts";

const Thing = z.object({ name: z.string(), more: z.unknown().optional() });
const app = router();
app.onError(onError);
for (const path of ["/v2/things", "/agents/x/things"]) {
  const responses = { 200: json(Thing, "The thing") };
  app.openapi(
    createRoute({ method: "post", path, request: { body: body(Thing) }, responses }),
    (c) => c.json(c.req.valid("json"), 200),
  );
}
for (const path of ["/v2/broken", "/api/v1/feedback/tokens/:token"]) {
  app.get(path, () => {
    throw new Error("password is hunter2");
  });
}

afterEach(() => void vi.restoreAllMocks());

function post(path: string, text: string, type = "application/json") {
  return app.request(path, { method: "POST", body: text, headers: { "Content-Type": type } });
}

describe("a body that is not JSON", () => {
  test.each([
    ["{", "Expected property name"],
    ["", "Unexpected end of JSON input"],
    ["name=x", `Unexpected token 'a', "name=x" is not valid JSON`],
    ['{"name": NaN}', `Unexpected token 'N', "{"name": NaN}" is not valid JSON. JSON has no NaN`],
    ['{"name": -Infinity}', "send null or a text"],
  ])("is a 400 that names the token: %j", async (text, found) => {
    const response = await post("/v2/things", text);
    expect(response.status).toBe(400);
    const { detail } = await response.json<{ detail: string }>();
    expect(detail).toMatch(/^Malformed JSON in request body: /);
    expect(detail).toContain(found);
  });

  test("is a 422 that names a number beyond all doubles", async () => {
    const response = await post("/v2/things", '{"name": "x", "more": {"list": [1, -1e400]}}');
    expect(response.status).toBe(422);
    const { detail } = await response.json<{ detail: { loc: string[] }[] }>();
    expect(detail[0]?.loc).toEqual(["body", "more", "list", 1]);
  });

  test("is a 400 as text in the agent server", async () => {
    const response = await post("/agents/x/things", "{");
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/^Malformed JSON in request body: Expected/);
  });
});

test("a wrong field is a 422 that names it", async () => {
  const response = await post("/v2/things", '{"name": 1}');
  expect(response.status).toBe(422);
  const { detail } = await response.json<{ detail: { loc: string[] }[] }>();
  expect(detail[0]?.loc).toEqual(["body", "name"]);
});

test("a body of another type is a 415 that names the accepted type", async () => {
  const response = await post("/v2/things", '{"name": "x"}', "text/plain");
  expect(response.status).toBe(415);
  expect(await response.json()).toEqual({ detail: expect.stringContaining("application/json") });
});

test.each(["toString", "NOPE", 404])("an error with the code %s is none of ours", (code) => {
  const { status, message } = AppError.from(Object.assign(new Error("hunter2"), { code }));
  expect([status, message]).toEqual([500, "Internal error"]);
});

test("a URL with a credential is logged without it", async () => {
  const print = vi.spyOn(console, "error").mockReturnValue();
  const response = await app.request("/api/v1/feedback/tokens/claim.k1.signature");
  expect(response.status).toBe(500);
  const [line] = print.mock.calls.flat();
  expect(JSON.parse(line)).toMatchObject({ path: "/api/v1/feedback/tokens/..." });
});

test("the text of an unknown error stays inside", async () => {
  const response = await app.request("/v2/broken");
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ detail: "Internal error" });
});

test.each(["", "late"])(
  "a stream that is cancelled while it waits ends once: %j follows",
  async (text) => {
    const next = Promise.withResolvers<void>();
    async function* chunks() {
      yield "first";
      await next.promise;
      yield text;
    }
    const calls: string[] = [];
    const stream = toByteStream(chunks(), {
      onCancel: () => calls.push("cancel"),
      onEnd: () => calls.push("end"),
    });
    const reader = stream.getReader();
    await reader.read();
    const waiting = reader.read();
    await scheduler.wait(0);
    const cancelled = reader.cancel();
    next.resolve();
    await Promise.all([waiting, cancelled]);
    await scheduler.wait(0);
    expect(calls).toEqual(["cancel", "end"]);
  },
);
