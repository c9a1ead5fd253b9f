import { stack, until } from "./stack.ts";

export type Answer<T = unknown> = { status: number; headers: Headers; body: T };

/** Plain HTTP to the stack, with its key; `body` is JSON where the answer is. */
export async function request<T>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  const response = await fetch(new URL(path, stack.base_url), {
    method,
    headers: {
      "x-api-key": stack.api_key,
      "x-tenant-id": stack.tenant_id,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse<T>(text) };
}

/** After its process was killed. */
export function aliveAgain() {
  return until(
    "The Worker's return",
    () => request("GET", "/ok").catch(() => ({ status: 0 })),
    ({ status }) => status === 200,
  );
}

/** The caller's type is trusted: assertions in the test check the body. */
function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return text as T;
  }
}
