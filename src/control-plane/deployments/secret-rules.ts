import { invalid } from "../../shared/errors.ts";
import type { NamedSecretChange, SecretInput } from "./schema.ts";

const MAX_SECRETS = 100;
const MAX_SECRET_NAME_LENGTH = 128;
const MAX_SECRET_BYTES = 32 * 1024;
/** Limit of all values of a deployment: they are sent to the isolate with its code. */
const MAX_SECRETS_BYTES = 256 * 1024;

/** Names that the platform sets, or that would change how the isolate or the official runtime works. */
const RESERVED = new Set([
  "LANGCHAIN_TRACING_V2",
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_ENDPOINT",
  "LANGCHAIN_PROJECT",
  "LANGSMITH_PROJECT",
  "LANGSMITH_LANGGRAPH_GIT_REPO",
  "LANGGRAPH_GIT_REPO_PATH",
  "LANGCHAIN_API_KEY",
  "LANGSMITH_CONTROL_PLANE_API_KEY",
  "POSTGRES_URI",
  "POSTGRES_PASSWORD",
  "DATABASE_URI",
  "LANGSMITH_LANGGRAPH_GIT_REF",
  "LANGSMITH_LANGGRAPH_GIT_REF_SHA",
  "LANGGRAPH_AUTH_TYPE",
  "LANGSMITH_AUTH_ENDPOINT",
  "LANGSMITH_TENANT_ID",
  "LANGSMITH_AUTH_VERIFY_TENANT_ID",
  "LANGSMITH_HOST_PROJECT_ID",
  "LANGSMITH_HOST_PROJECT_NAME",
  "LANGSMITH_HOST_REVISION_ID",
  "LOG_JSON",
  "LOG_DICT_TRACEBACKS",
  "REDIS_URI",
  "LANGCHAIN_CALLBACKS_BACKGROUND",
  "DD_TRACE_PSYCOPG_ENABLED",
  "DD_TRACE_REDIS_ENABLED",
  "LANGSMITH_DEPLOYMENT_NAME",
  "LANGGRAPH_CLOUD_LICENSE_KEY",
  "LANGSMITH_API_KEY",
  "LANGSMITH_ENDPOINT",
  "POSTGRES_URI_CUSTOM",
  "REDIS_URI_CUSTOM",
  "PATH",
  "PORT",
  "MOUNT_PREFIX",
  "LSD_ENV",
  "LSD_DD_API_KEY",
  "LSD_DD_ENDPOINT",
  "LSD_DEPLOYMENT_TYPE",
]);

/** @throws AppError 422 for a reserved, repeated or malformed name, too many secrets, or values that are too large */
export function assertSecrets(secrets: readonly SecretInput[]): void {
  assertEach("secrets", secrets);
  assertTogether("secrets", secrets);
}

/**
 * @param kept the current secrets of the deployment
 * @throws AppError 422 for a change or a result that `assertSecrets` would refuse
 */
export function assertSecretChanges(
  changes: readonly NamedSecretChange[],
  kept: Readonly<Record<string, string>>,
): void {
  assertEach("secret_changes", changes);
  const all = new Map(Object.entries(kept));
  for (const { name, value } of changes) {
    if (value === null) all.delete(name);
    else all.set(name, value);
  }
  assertTogether(
    "secret_changes",
    [...all].map(([name, value]) => ({ name, value })),
  );
}

function assertEach(field: string, changes: readonly NamedSecretChange[]): void {
  const seen = new Set<string>();
  for (const [at, { name, value }] of changes.entries()) {
    const problem = nameProblem(name, seen);
    if (problem !== null) throw invalid(["body", field, at, "name"], problem);
    if (value !== null && sizeOf(value) > MAX_SECRET_BYTES) {
      const text = `the value of "${name}" has more than ${MAX_SECRET_BYTES} bytes`;
      throw invalid(["body", field, at, "value"], text);
    }
    seen.add(name);
  }
}

function assertTogether(field: string, all: readonly SecretInput[]): void {
  if (all.length > MAX_SECRETS) {
    const text = `must have at most ${MAX_SECRETS} secrets; it has ${all.length}`;
    throw invalid(["body", field], text);
  }
  if (all.reduce((sum, { value }) => sum + sizeOf(value), 0) > MAX_SECRETS_BYTES) {
    const text = `all values together have more than ${MAX_SECRETS_BYTES} bytes`;
    throw invalid(["body", field], text);
  }
}

function nameProblem(name: string, seen: ReadonlySet<string>): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return `"${name.slice(0, MAX_SECRET_NAME_LENGTH)}" is not a valid name: use letters, digits and _, and do not begin with a digit`;
  }
  if (name.length > MAX_SECRET_NAME_LENGTH) {
    return `a name has at most ${MAX_SECRET_NAME_LENGTH} characters`;
  }
  if (RESERVED.has(name)) return `"${name}" is a reserved name: choose another one`;
  if (seen.has(name)) return `"${name}" occurs twice`;
  return null;
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
