/** Headers of 120 KB. A request with them takes 0.9 MB of a Worker that reads it. */
const PADDING = Array.from({ length: 30 }, (_, n) => `X-${n}: ${"x".repeat(4000)}`).join("\r\n");

/** Beginnings of requests, each with a description. */
export const HALF_REQUESTS: [contents: string, bytes: string][] = [
  [
    "headers and a byte of a body",
    `POST /v1/session HTTP/1.1\r\nHost: x\r\n${PADDING}\r\nContent-Length: 1000\r\n\r\n{`,
  ],
  [
    "a byte of a body of a webhook",
    "POST /webhooks/0197 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
  ],
  ["half of a header", `GET /ok HTTP/1.1\r\nHost: x\r\nX-Half: ${"x".repeat(10_000)}`],
  ["nothing", ""],
];
