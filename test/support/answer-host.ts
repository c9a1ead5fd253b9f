import { vi } from "vitest";

/**
 * Answers the requests to a host, and returns them in the order of their arrival. Sends all others: a job of an earlier
 * test may still write to the S3 server. `vi.restoreAllMocks` ends it.
 */
export function answerHost(
  host: string,
  answer: (request: Request) => Response | Promise<Response>,
): Request[] {
  const { fetch } = globalThis;
  const requests: Request[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (new URL(url).hostname !== host) return fetch(input, init);
    const request = new Request(input, init);
    requests.push(request);
    return Promise.resolve(answer(request));
  });
  return requests;
}
