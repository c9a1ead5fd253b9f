import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@langchain/langgraph-sdk";

export type Settings = {
  url: string;
  key: string;
  operator_token: string | undefined;
  /** Host and port below which agents have host names. */
  agents_domain: string | undefined;
  /** Jurisdiction that is expected. */
  region: string | undefined;
  /** URL that agents fetch. */
  fetch_url: string;
  /** Host and port of a server that agents connect to. */
  tcp_address: string | undefined;
  long_seconds: number;
  bodies: number;
  body_bytes: number;
  export: ExportSettings | undefined;
};

export type ExportSettings = {
  bucket_name: string;
  endpoint_url?: string;
  region?: string;
  access_key_id: string;
  secret_access_key: string;
};

/** A check returns a text about its success, and throws when it fails. */
export type Check = {
  name: string;
  /** Limit or behaviour of the platform that the check tests. */
  limit: string;
  /** Runs only with `--long` or when `--only` names it. */
  is_long?: boolean;
  /** Reason why a local stack is not checked. */
  not_local?: string;
  run(target: Target): Promise<string>;
};

/** Thrown by a check that cannot run, with the reason. */
export class Skipped extends Error {}

const POLL_MS = 500;
const GIVE_UP_MS = 120_000;

/** The deployment under test. */
export class Target {
  readonly settings: Settings;
  /** Functions that delete what the checks created. They run in reverse order at the end. */
  readonly cleanups: (() => Promise<unknown>)[] = [];
  #agent: { id: string; project_id: string } | undefined;

  constructor(settings: Settings) {
    this.settings = settings;
  }

  get isLocal(): boolean {
    return isLocal(this.settings.url);
  }

  set agent(agent: { id: string; project_id: string }) {
    this.#agent = agent;
  }

  get agent(): { id: string; project_id: string } {
    if (this.#agent) return this.#agent;
    throw new Skipped("no agent was built");
  }

  /** The official client of the agent that the check `build` deployed. @throws Skipped before that */
  get client(): Client {
    return this.clientOf(this.agent.id);
  }

  clientOf(deployment_id: string): Client {
    const { url, key } = this.settings;
    return new Client({ apiUrl: `${url}/agents/${deployment_id}`, apiKey: key });
  }

  /** Runs a graph of the agent without a thread. */
  async probe<T>(graph: string, input: Record<string, unknown> = {}): Promise<T> {
    const values = await this.client.runs.wait(null, graph, { input });
    const { __error__: error } = Object(values) as { __error__?: unknown };
    assert(error === undefined, `the graph ${graph} failed: ${JSON.stringify(error)}`);
    return values as T;
  }

  fetch(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const { url, key } = this.settings;
    const content = body === undefined ? {} : { "Content-Type": "application/json" };
    return fetch(new URL(path, url), {
      method,
      headers: { "X-Api-Key": key, ...content, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.fetch(method, path, body);
    const text = await response.text();
    assert(response.ok, `${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  /** Reads until the value is not `null`. `name` is the missing thing in the error. */
  async poll<T>(name: string, read: () => Promise<T | null>, ms = GIVE_UP_MS): Promise<T> {
    const deadline = Date.now() + ms;
    for (;;) {
      const value = await read();
      if (value !== null) return value;
      assert(Date.now() < deadline, `no ${name} in ${ms / 1000} s`);
      await sleep(POLL_MS);
    }
  }

  /** Prints the progress of a long check. */
  progress(text: string): void {
    console.log(`         ${text}`);
  }
}

export function isLocal(url: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname);
}

export function assert(condition: boolean, problem: string): asserts condition {
  if (!condition) throw new Error(problem);
}
