import { env } from "cloudflare:workers";
import { vi } from "vitest";

type Prototype = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** @returns a function that ends the outage */
function fail(target: object, names: readonly string[], text: string): () => void {
  const prototype = Object.getPrototypeOf(target) as Prototype;
  const spies = names.map((name) =>
    vi.spyOn(prototype, name).mockImplementation(() => Promise.reject(new Error(text))),
  );
  return () => {
    for (const spy of spies) spy.mockRestore();
  };
}

/** Fails every statement of D1, as the platform does. @returns a function that ends the outage */
export function failD1(): () => void {
  const text = "D1_ERROR: D1 DB is overloaded. Requests queued for too long.";
  const statements = fail(env.DB.prepare("SELECT 1"), ["run", "all", "raw", "first"], text);
  const batches = fail(env.DB, ["batch"], text);
  return () => {
    statements();
    batches();
  };
}

/** Fails every call of R2. @returns a function that ends the outage */
export function failR2(): () => void {
  const text = "put: We encountered an internal error. Please try again. (10001)";
  return fail(env.ARTIFACTS, ["get", "head", "put", "delete", "list"], text);
}
