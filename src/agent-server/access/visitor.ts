import { resolveCaller } from "../../control-plane/workspaces/auth.ts";
import type { Caller } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { withheldCredential } from "./request.ts";

/**
 * Principal of a request that an agent's app handles before authentication, or the reason why its credential was
 * refused. The routes behind the app act as this principal. The isolate does not receive the credential.
 */
export type Visitor = {
  /** The header that has the credential. */
  header: string;
} & ({ caller: Caller } | { refusal: Refusal });
type Refusal = Pick<AppError, "code" | "message" | "retry_after_seconds">;

/**
 * Authenticates the credential of a request. A refused credential becomes a `refusal`, which only
 * `resolveCallerBehindApp` throws: the app itself needs no credential.
 * @param issuer issuer of the users' tokens that the workspace accepts
 * @returns `null` when the request has no credential of the workspace
 */
export async function resolveVisitor(
  env: Env,
  headers: Headers,
  issuer: string | null,
): Promise<Visitor | null> {
  const header = withheldCredential(headers, issuer);
  if (header === null) return null;
  try {
    return { header, caller: await resolveCaller(env, headers) };
  } catch (error) {
    const { code, message, retry_after_seconds } = AppError.from(error);
    if (code === "internal") throw error;
    return { header, refusal: { code, message, retry_after_seconds } };
  }
}

/** Returns the visitor, unless the app sends another credential in the visitor's place. */
export async function resolveCallerBehindApp(
  env: Env,
  headers: Headers,
  visitor: Visitor | null,
): Promise<Caller> {
  const isReplaced = visitor && (headers.has("x-api-key") || headers.has(visitor.header));
  if (visitor === null || isReplaced) return resolveCaller(env, headers);
  if ("caller" in visitor) return visitor.caller;
  const { code, message, retry_after_seconds } = visitor.refusal;
  throw new AppError(code, message, { retry_after_seconds });
}
