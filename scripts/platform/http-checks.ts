import { randomBytes } from "node:crypto";
import { createDeployment, createUpload, upload } from "./build.ts";
import { assert, type Check, type Target } from "./target.ts";

const MB = 1_000_000;
const UPLOAD_BYTES = 60 * MB;
const HEADER_BYTES = 12_000;
/** Time for two attempts of a webhook, whose first pauses are 5 and 30 seconds. */
const WEBHOOK_MS = 120_000;

export const HTTP_CHECKS: Check[] = [
  { name: "console", limit: "assets, CSP, scripts that a zone injects", run: checkConsole },
  { name: "large headers", limit: "128 KB of headers, 16 KB of URL", run: checkHeaders },
  { name: "large upload", limit: "100 MB of request body, R2 put", run: checkUpload },
  { name: "webhook retry", limit: "queue with a delay delivers again", run: checkWebhook },
];

/** Features of a zone may add scripts to a page, which the policy of the page then blocks. */
async function checkConsole({ settings }: Target): Promise<string> {
  const page = await fetch(`${settings.url}/console/`);
  const html = await page.text();
  const policy = page.headers.get("Content-Security-Policy") ?? "";
  assert(policy.includes("script-src 'self'"), `the console's policy is "${policy}"`);
  assert(!html.includes("/cdn-cgi/"), "a feature of the zone adds a script to the console");
  const path = /src="(\/console\/assets\/[^"]+\.js)"/.exec(html)?.[1];
  assert(path !== undefined, `the console has no script: ${html.slice(0, 200)}`);
  const script = await fetch(settings.url + path, { headers: { "Accept-Encoding": "gzip, br" } });
  const { length } = await script.text();
  assert(script.ok && length > 10_000, `${path} answered ${script.status}, ${length} characters`);
  const cached = script.headers.get("Cache-Control") ?? "";
  assert(cached.includes("immutable"), `${path} has Cache-Control "${cached}"`);
  const encoding = script.headers.get("Content-Encoding") ?? "identity";
  return `${path} has ${length} characters, is ${encoding}, and is cached for a year`;
}

async function checkHeaders(target: Target): Promise<string> {
  const padding = "x".repeat(HEADER_BYTES);
  const headers = { "X-Padding": padding };
  const header = await target.fetch("GET", "/v1/me", undefined, headers);
  assert(header.ok, `a header of ${HEADER_BYTES} bytes is answered ${header.status}`);
  const url = await target.fetch("GET", `/v1/me?padding=${padding}`);
  assert(url.ok, `a URL of ${HEADER_BYTES} bytes is answered ${url.status}`);
  return `a header and a URL of ${HEADER_BYTES} bytes arrive`;
}

/** A conditional put of R2 lets a URL work once. */
async function checkUpload(target: Target): Promise<string> {
  const { id } = await createDeployment(target, "upload");
  const { upload_url } = await createUpload(target, id);
  const started = Date.now();
  const first = await upload(upload_url, new Uint8Array(randomBytes(UPLOAD_BYTES)));
  const text = await first.text();
  assert(first.ok, `an upload of ${UPLOAD_BYTES} bytes is answered ${first.status}: ${text}`);
  const size = Object(JSON.parse(text)).size_bytes;
  assert(size === UPLOAD_BYTES, `an upload of ${UPLOAD_BYTES} bytes is stored with ${size}`);
  const second = await upload(upload_url, new Uint8Array(1000));
  assert(second.status === 409, `a second upload is answered ${second.status}`);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  return `an upload of ${UPLOAD_BYTES / MB} MB took ${seconds} s, a second one is refused`;
}

type Delivery = { status: string; attempts: { error: string | null }[] };

/** No host has a name below .invalid, so each attempt fails. */
async function checkWebhook(target: Target): Promise<string> {
  const { client, agent } = target;
  const { thread_id } = await client.threads.create();
  const webhook = "https://platform-check.invalid/";
  const { run_id } = await client.runs.create(thread_id, "echo", { input: {}, webhook });
  const path = `/agents/${agent.id}/threads/${thread_id}/runs/${run_id}/webhook`;
  const read = async () => {
    const response = await target.fetch("GET", path);
    const { attempts = [] } = response.ok ? ((await response.json()) as Delivery) : {};
    return attempts.filter(({ error }) => error !== null).length >= 2 ? attempts : null;
  };
  const attempts = await target.poll("second attempt of a webhook", read, WEBHOOK_MS);
  return `${attempts.length} attempts to ${webhook}: ${attempts[0]?.error}`;
}
