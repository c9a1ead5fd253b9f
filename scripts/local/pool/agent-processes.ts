import { writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { resolve } from "node:path";
import { type Request, Response } from "miniflare";
import { hostBundleOf } from "../bundle.ts";
import { hostConfig } from "./host-config.ts";
import { Pool } from "./pool.ts";

const MEGABYTE = 1024 * 1024;
const RSS_BYTES = 512 * MEGABYTE;
const LIMITS = { rss_bytes: RSS_BYTES, data_bytes: 768 * MEGABYTE + RSS_BYTES, computes_ms: 3000 };
const MAX_PROCESSES = 32;
/** What the way out of agents depends on. Secrets of the main script stay in its process. */
const VARIABLES = ["EGRESS_AGENT_HOSTS", "EGRESS_DNS_URL", "LOCAL_PORTS"];

/** Returns what the main script is bound to as PROCESSES. */
export async function agentProcesses(
  path: string,
  main_service: string,
  bindings: Record<string, string>,
): Promise<(request: Request) => Promise<Response>> {
  const config = resolve("host.capnp");
  const variables = Object.fromEntries(VARIABLES.map((name) => [name, bindings[name] ?? ""]));
  const text = await hostConfig({ script: hostBundleOf(path), variables, main_service });
  await writeFile(config, text, { mode: 0o600 });
  // As many as the machine's memory has room for when each uses all that it may.
  const room = Math.floor(totalmem() / (2 * RSS_BYTES));
  const max_processes = Math.max(2, Math.min(MAX_PROCESSES, room));
  const pool = new Pool({ config, limits: LIMITS, max_processes });
  return (request) => answer(pool, request);
}

async function answer(pool: Pool, request: Request): Promise<Response> {
  const body = (await request.json()) as { key: string; address: string };
  const { pathname } = new URL(request.url);
  try {
    if (pathname === "/claim") return Response.json({ address: await pool.claim(body.key) });
    return Response.json({ why: await pool.reasonOf(body.address) });
  } catch (error) {
    return new Response(error instanceof Error ? error.message : String(error), { status: 503 });
  }
}
