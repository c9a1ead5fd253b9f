import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
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

test("an agent receives the reason of a refused request", async () => {
  const ctx = Object.assign(createExecutionContext(), { props: { deployment_id: "d" } });
  const egress = new Egress(ctx, env);
  const response = await egress.fetch(new Request("https://169.254.169.254/latest/meta-data/"));
  expect(response.status).toBe(403);
  expect(await response.text()).toBe(
    "Heddle refused this request: 169.254.169.254 is not a public address: private, loopback and link-local hosts are refused.",
  );
});
