import type { StackInfo } from "../local/stack.ts";

export type Api = ReturnType<typeof apiOf>;

/** Plain HTTP calls: a client library's own time is not the server's. */
export function apiOf(info: StackInfo) {
  const headers = { "X-Api-Key": info.api_key, "Content-Type": "application/json" };

  async function call(method: string, path: string, body?: unknown): Promise<Response> {
    const response = await fetch(`${info.base_url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }

  const json = async (method: string, path: string, body?: unknown) =>
    (await call(method, path, body)).json() as Promise<Record<string, string>>;

  return { call, json };
}

/** Reads a stream to its end. Calls `onFirst` at its first bytes. Returns the text. */
export async function readStream(response: Response, onFirst: () => void): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return text;
    if (text === "") onFirst();
    text += value;
  }
}
