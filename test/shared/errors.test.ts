import { RpcStub, RpcTarget } from "cloudflare:workers";
import { expect, test } from "vitest";
import { AppError } from "../../src/shared/errors.ts";

class Thrower extends RpcTarget {
  readonly #error: unknown;

  constructor(error: unknown) {
    super();
    this.#error = error;
  }

  async fail(): Promise<void> {
    throw this.#error;
  }
}

/** Throws the error at the other end of an RPC call and restores it here. */
async function overRpc(error: unknown): Promise<AppError> {
  using stub = new RpcStub(new Thrower(error));
  const received: unknown = await stub.fail().catch((reason: unknown) => reason);
  expect(received).not.toBeInstanceOf(AppError);
  return AppError.from(received);
}

const issues = [{ loc: ["body", 0], msg: "must be text", type: "value_error" }];
const answer = { status: 418, headers: [["x-teapot", "short"] satisfies [string, string]] };

test.each<[keyof AppError, AppError, unknown]>([
  ["code", new AppError("conflict", "x"), "conflict"],
  ["message", new AppError("conflict", "The thread is busy."), "The thread is busy."],
  ["status", new AppError("rate_limited", "x"), 429],
  ["issues", new AppError("invalid_request", "x", { issues }), issues],
  ["retry_after_seconds", new AppError("rate_limited", "x", { retry_after_seconds: 2.5 }), 2.5],
  ["answer", AppError.answer("x", answer), answer],
  ["status", AppError.answer("x", answer), 418],
])("an AppError keeps its %s over RPC", async (field, error, value) => {
  const restored = await overRpc(error);
  expect(restored).toBeInstanceOf(AppError);
  expect(restored[field]).toEqual(value);
});

test.each<[string, object]>([
  ["issues that are no list", { issues: "none" }],
  ["an issue without a location", { issues: [{ msg: "x", type: "x" }] }],
  ["a negative time to wait", { retry_after_seconds: -1 }],
  ["a status that is no refusal", { answer: { status: 200, headers: [] } }],
  ["invalid headers", { answer: { status: 403, headers: [["x", "a\r\nset-cookie: b"]] } }],
])("an error of an agent's code with %s loses only that field", async (_case, fields) => {
  const forged = Object.assign(new Error("x"), { code: "forbidden", ...fields });
  const { code, status, issues, retry_after_seconds, answer } = await overRpc(forged);
  expect({ code, status, issues, retry_after_seconds, answer }).toEqual({
    code: "forbidden",
    status: 403,
    issues: undefined,
    retry_after_seconds: undefined,
    answer: undefined,
  });
});
