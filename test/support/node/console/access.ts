import { Client } from "@langchain/langgraph-sdk";
import type { StackInfo } from "../../../../local/stack.ts";

/** Calls of a workspace's admin to a local stack. */
export type Access = StackInfo & {
  call<T = Record<string, string>>(method: string, path: string, body?: unknown): Promise<T>;
  agent(deployment_id: string): Client;
};

const POLL_MS = 100;

export function accessOf(info: StackInfo): Access {
  const headers = { "X-Api-Key": info.api_key, "X-Tenant-Id": info.tenant_id };

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${info.base_url}${path}`, {
      method,
      headers: { ...headers, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  const agent = (id: string) =>
    new Client({ apiUrl: `${info.base_url}/agents/${id}`, apiKey: info.api_key });
  return { ...info, call, agent };
}

/** Reads until the answer is wanted. @throws after two minutes */
export async function poll<T>(read: () => Promise<T>, isWanted: (answer: T) => boolean) {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const answer = await read();
    if (isWanted(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`Not in time: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
