// Calls Heddle by plain HTTP, as a CI job does: with a header for the key and one for the workspace.
import type { StackInfo } from "../../local/stack.ts";
import { expect } from "./story.ts";

export type Call = ReturnType<typeof caller>;

/** Returns a function that calls the API and returns the JSON body. A status other than `status` fails the demo. */
export function caller({ base_url, api_key, tenant_id }: StackInfo) {
  return async <T>(method: string, path: string, status: number, body?: unknown): Promise<T> => {
    const response = await fetch(base_url + path, {
      method,
      headers: {
        "X-Api-Key": api_key,
        "X-Tenant-Id": tenant_id,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(
      response.status === status,
      `${method} ${path} should answer ${status} and answered ${response.status}: ${text}`,
    );
    return (text === "" ? null : JSON.parse(text)) as T;
  };
}
