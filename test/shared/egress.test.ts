import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Egress } from "../../src/shared/egress/agent-egress.ts";
import { safeFetch } from "../../src/shared/egress/egress.ts";
import { follow, type Hop } from "../../src/shared/egress/hops.ts";
import { AppError } from "../../src/shared/errors.ts";

const LIMITS = { timeout_ms: 1000, max_bytes: 1000 };

function hop(init: RequestInit = {}): Hop {
  return {
    url: new URL("https://api.example.com/start"),
    init: { ...init, headers: new Headers(init.headers) },
  };
}

const SECRETS = {
  authorization: "Bearer a",
  cookie: "b",
  "x-api-key": "c",
  "private-token": "d",
  accept: "*/*",
};

test("a redirect to another host carries no credential", () => {
  const next = follow(hop({ headers: SECRETS }), 302, "https://codeload.example.com/x");
  expect(Object.fromEntries(next.init.headers)).toEqual({ accept: "*/*" });
});

test("a redirect within the host keeps its credentials", () => {
  const next = follow(hop({ headers: SECRETS }), 302, "/next");
  expect(next.url.href).toBe("https://api.example.com/next");
  expect(next.init.headers.get("authorization")).toBe("Bearer a");
});

test("another port or protocol of the same name is another host", () => {
  for (const location of ["https://api.example.com:444/", "http://api.example.com/"]) {
    expect(follow(hop({ headers: SECRETS }), 302, location).init.headers.has("cookie")).toBe(false);
  }
});

test("303 and 302 turn a POST into a GET without a body, 307 keeps both", () => {
  const post = { method: "POST", body: "{}" };
  expect(follow(hop(post), 303, "/next").init).toMatchObject({ method: "GET" });
  expect(follow(hop(post), 302, "/next").init.body).toBeUndefined();
  expect(follow(hop(post), 307, "/next").init).toMatchObject(post);
});

test("a private address is refused before anything is sent", async () => {
  const refused = safeFetch({ allow_private: false }, "https://169.254.169.254/", {}, LIMITS);
  await expect(refused).rejects.toThrow(/169\.254\.169\.254 is not a public address/);
  await expect(refused).rejects.toMatchObject({ code: "invalid_request" });
});

test("what is not a URL is a clear error", async () => {
  const refused = safeFetch({ allow_private: false }, "not a url", {}, LIMITS);
  await expect(refused).rejects.toThrow('"not a url" is not a URL.');
});

test("a host that cannot be reached is unavailable", async () => {
  const dead = safeFetch({ allow_private: true }, "http://127.0.0.1:1/", {}, LIMITS);
  await expect(dead).rejects.toBeInstanceOf(AppError);
  await expect(dead).rejects.toMatchObject({ code: "unavailable" });
});

describe("a response", () => {
  /** Yields a chunk for each call of `send`. */
  function body() {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const send = (bytes: number) => writer.write(new Uint8Array(bytes));
    vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(readable));
    return { send, end: () => writer.close() };
  }

  const limits = { timeout_ms: 60_000, max_bytes: 1_000_000, grace_ms: 100 };
  const read = async () => {
    const response = await safeFetch(
      { allow_private: false },
      "https://x.example.com/",
      {},
      limits,
    );
    return response.arrayBuffer();
  };

  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("that arrives at less than 16 KB a second ends", async () => {
    const { send } = body();
    const reading = read();
    void send(1);
    await expect(reading).rejects.toThrow("sent its response at less than 16 KB a second");
    await expect(reading).rejects.toMatchObject({ code: "unavailable" });
  });

  test("that arrived faster may pause", async () => {
    const { send, end } = body();
    const reading = read();
    await send(500_000);
    await scheduler.wait(2 * limits.grace_ms);
    void send(1);
    void end();
    expect((await reading).byteLength).toBe(500_001);
  });
});

test("an agent receives the reason of a refused request", async () => {
  const ctx = Object.assign(createExecutionContext(), { props: { deployment_id: "d" } });
  const egress = new Egress(ctx, env);
  const response = await egress.fetch(new Request("https://169.254.169.254/latest/meta-data/"));
  expect(response.status).toBe(403);
  expect(await response.text()).toBe(
    "Heddle refused this request: 169.254.169.254 is not a public address: private, loopback and link-local hosts are refused.",
  );
});
