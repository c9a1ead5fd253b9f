import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context as HonoContext } from "hono";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "../context.ts";

export type ApiOperation = {
  operationId: string;
  /** In upper case. */
  method: string;
  /** With its parameters in braces. */
  path: string;
  is_public: boolean;
  reads_body: boolean;
};

/** Returns a function that finds the operation of a request. */
export function operationFinder(app: OpenAPIHono<AppEnv>) {
  let known: Map<string, string> | undefined;
  return (c: HonoContext<AppEnv>): string | null => {
    known ??= new Map(
      operationsOf(app).map((operation) => [patternOf(operation), operation.operationId]),
    );
    for (const { method, path } of matchedRoutes(c)) {
      const operationId = known.get(`${method} ${path}`);
      if (operationId !== undefined) return operationId;
    }
    return null;
  };
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Returns a function that lists the methods that the routes of a path have. Middleware has none. */
export function methodFinder(app: OpenAPIHono<AppEnv>) {
  return (path: string): string[] =>
    METHODS.filter((method) => {
      const [handlers] = app.router.match(method, path);
      return handlers.some(([[, route]]) => route.method === method);
    });
}

function operationsOf(app: OpenAPIHono<AppEnv>): ApiOperation[] {
  return app.openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== "route") return [];
    const { method, path, operationId = "", security, request } = definition.route;
    const is_public = security?.length === 0;
    const reads_body = request?.body !== undefined;
    return [{ operationId, method: method.toUpperCase(), path, is_public, reads_body }];
  });
}

/** Returns the key of a route in Hono's router: its method, and its path with `:name` for `{name}`. */
function patternOf({ method, path }: ApiOperation): string {
  return `${method} ${path.replace(/\{(.+?)\}/g, ":$1")}`;
}
