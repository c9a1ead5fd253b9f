import { OpenAPIHono } from "@hono/zod-openapi";
import type { z } from "zod";
import type { AppEnv } from "../context.ts";
import { AppError, invalid } from "../errors.ts";
import { joinIssues, toIssues } from "../validation.ts";
import { isShallow, MAX_DEPTH } from "./depth.ts";
import { pathOfInfinity } from "./json-body.ts";

type RouterOptions = NonNullable<ConstructorParameters<typeof OpenAPIHono<AppEnv>>[0]>;
type Target = "json" | "query" | "param" | "header" | "cookie" | "form";

const LOCATION = {
  json: "body",
  form: "body",
  query: "query",
  param: "path",
  header: "header",
  cookie: "cookie",
} as const satisfies Record<Target, string>;

type Checked = { success: boolean; target: string; data?: unknown; error?: unknown };

/** A router whose validation failures reach `onError` like every other error. */
export function router(options: Pick<RouterOptions, "getPath"> = {}): OpenAPIHono<AppEnv> {
  return new OpenAPIHono<AppEnv>({ ...options, defaultHook: assertValid });
}

function assertValid(result: Checked): undefined {
  const problem = problemOf(result);
  if (problem) throw problem;
}

/** Refuses with 400, for operations whose clients expect that status for an invalid request. */
export function assertWellFormed(result: Checked): undefined {
  const problem = problemOf(result);
  if (problem) throw new AppError("bad_request", problem.message);
}

function problemOf({ success, target, data, error }: Checked): AppError | null {
  if (!success) return invalidRequest(target as Target, error as z.core.$ZodError);
  if (target !== "json") return null;
  if (!isShallow(data)) return invalid(["body"], `is nested more than ${MAX_DEPTH} levels deep`);
  const path = pathOfInfinity(data);
  return path && invalid(["body", ...path], `must be a number of at most ${Number.MAX_VALUE}`);
}

/** Returns the origin of a request. Answers use it in URLs when the installation configures no public origin. */
export function originOf(url: string): string {
  return new URL(url).origin;
}

function invalidRequest(target: Target, error: z.core.$ZodError): AppError {
  const issues = toIssues(error, [LOCATION[target]]);
  return new AppError("invalid_request", joinIssues(issues), { issues });
}
