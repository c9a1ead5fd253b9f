import { randomUUID } from "node:crypto";
import type { StackInfo } from "../../../local/stack.ts";

type Page = { runs: { id: string }[]; cursors: { next: string | null } };
type Thread = { thread_id: string; values: { n?: number } | null };

const PAGE = 100;
/** Project of the traces that the tenant sends itself. */
const PROJECT = "honest";

/** A tenant that remembers what the service acknowledged. It repeats a failed call only for pages of threads. */
export class Tenant {
  readonly findings: string[] = [];
  /** Milliseconds of each call that was answered. */
  readonly calls: number[] = [];
  readonly #info: StackInfo;
  readonly #agent: string;
  readonly #threads = new Map<string, number>();
  readonly #traces = new Set<string>();
  #n = 0;

  constructor(info: StackInfo, deployment_id: string) {
    this.#info = info;
    this.#agent = `/agents/${deployment_id}`;
  }

  get size(): string {
    return `${this.#threads.size} runs and ${this.#traces.size} traces`;
  }

  /** Creates a thread with a run, a streamed run without a thread and a trace, and reads the control plane. */
  async round(): Promise<void> {
    const n = ++this.#n;
    const run = { assistant_id: "echo", input: { n } };
    const thread = await this.#json<Thread>("POST", `${this.#agent}/threads`, {});
    if (thread === null) return;
    const path = `${this.#agent}/threads/${thread.thread_id}/runs`;
    const values = await this.#json<{ n: number }>("POST", `${path}/wait`, run);
    if (values !== null) {
      this.#threads.set(thread.thread_id, n);
      if (values.n !== n) this.findings.push(`run ${n} answered ${JSON.stringify(values)}`);
    }
    const stream = { ...run, stream_mode: ["values"] };
    const events = await this.#text("POST", `${this.#agent}/runs/stream`, stream);
    if (events !== null && !events.includes(`{"n":${n}}`)) {
      this.findings.push(`the stream ${n} has no result: ${events.slice(-300)}`);
    }
    await this.#trace(n);
    await this.#text("GET", "/v2/deployments");
  }

  async #trace(n: number): Promise<void> {
    const [id, now] = [randomUUID(), new Date().toISOString()];
    const run = { id, name: `trace ${n}`, run_type: "chain", session_name: PROJECT };
    const times = { start_time: now, end_time: now, inputs: { n }, outputs: { n } };
    const sent = await this.#text("POST", "/api/v1/runs", { ...run, ...times });
    if (sent !== null) this.#traces.add(id);
  }

  /** Reads everything that was acknowledged. Returns findings. */
  async check(): Promise<string[]> {
    const lost = [...(await this.#lostThreads()), ...(await this.#lostTraces())];
    return [...this.findings, ...lost];
  }

  async #lostThreads(): Promise<string[]> {
    const found = new Map<string, number | undefined>();
    for (let offset = 0; ; offset += PAGE) {
      const query = { limit: PAGE, offset };
      const read = () => this.#json<Thread[]>("POST", `${this.#agent}/threads/search`, query);
      // A call that failed is one finding, and not the loss of the pages behind it.
      const page = (await read()) ?? (await read());
      for (const { thread_id, values } of page ?? []) found.set(thread_id, values?.n);
      if (page === null || page.length < PAGE) break;
    }
    return [...this.#threads]
      .filter(([thread_id, n]) => found.get(thread_id) !== n)
      .map(([thread_id, n]) => `thread ${thread_id} of run ${n} has n = ${found.get(thread_id)}`);
  }

  async #lostTraces(): Promise<string[]> {
    const sessions = await this.#json<{ id: string }[]>("GET", `/api/v1/sessions?name=${PROJECT}`);
    const found = new Set<string>();
    const query = { session: [sessions?.[0]?.id], select: ["id"], limit: PAGE };
    let cursor: string | null | undefined;
    do {
      const page: Page | null = await this.#json<Page>("POST", "/api/v1/runs/query", {
        ...query,
        ...(cursor && { cursor }),
      });
      for (const { id } of page?.runs ?? []) found.add(id);
      cursor = page?.cursors.next;
    } while (cursor);
    return [...this.#traces].filter((id) => !found.has(id)).map((id) => `trace ${id} is lost`);
  }

  async #json<T>(method: string, path: string, body?: unknown): Promise<T | null> {
    const text = await this.#text(method, path, body);
    return text === null ? null : (JSON.parse(text) as T);
  }

  /** @returns `null` for a call that failed, which is a finding */
  async #text(method: string, path: string, body?: unknown): Promise<string | null> {
    const { base_url, api_key, tenant_id } = this.#info;
    const started = performance.now();
    try {
      const response = await fetch(base_url + path, {
        method,
        headers: {
          ...{ "X-Api-Key": api_key, "X-Tenant-Id": tenant_id },
          ...(body !== undefined && { "Content-Type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      this.calls.push(performance.now() - started);
      if (response.ok) return text;
      this.findings.push(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
    } catch (error) {
      this.findings.push(`${method} ${path}: ${String(Object(error).cause ?? error)}`);
    }
    return null;
  }
}
