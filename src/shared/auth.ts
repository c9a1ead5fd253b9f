import type { Context, Role } from "./context.ts";
import { AppError } from "./errors.ts";

export type Action = "read" | "write" | "delete" | "admin";

const ALLOWED: Record<Role, readonly Action[]> = {
  viewer: ["read"],
  editor: ["read", "write"],
  admin: ["read", "write", "delete", "admin"],
};

const NEEDED: Record<Action, string> = {
  read: "viewer, editor or admin",
  write: "editor or admin",
  delete: "admin",
  admin: "admin",
};

const DOING: Record<Action, string> = {
  read: "Reading this",
  write: "Changing this",
  delete: "Deleting this",
  admin: "Administering this",
};

export function assertMay(ctx: Pick<Context, "caller">, action: Action): void {
  const { role } = ctx.caller;
  if (ALLOWED[role].includes(action)) return;
  const text = `${DOING[action]} needs the role ${NEEDED[action]}. The caller's role is ${role}.`;
  throw new AppError("forbidden", text);
}

/** Returns whether a role has at least the rights of another. */
export function includesRole(role: Role, other: Role): boolean {
  return ALLOWED[other].every((action) => ALLOWED[role].includes(action));
}

/** Exporters of OpenTelemetry that do not decode OTEL_EXPORTER_OTLP_HEADERS send the space as %20. */
const BEARER = /^Bearer(?: +|%20)/i;

/** Returns the credential in the value of a header. The scheme `Bearer` is optional. */
export function credentialIn(value: string): string {
  return value.trim().replace(BEARER, "");
}
