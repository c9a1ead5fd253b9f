import { env } from "cloudflare:workers";
import { toIso } from "../../../src/shared/times.ts";
import { toDottedOrder } from "../../../src/traces/dotted-order.ts";
import { api } from "../../support/workspace.ts";

export type WireRun = Record<string, unknown> & {
  id: string;
  trace_id: string;
  dotted_order: string;
};
export type ReadRun = Record<string, unknown> & { id: string; session_id: string };

/** Returns an id of version 7 with this time. */
export function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, "0");
  const rest = crypto.randomUUID().slice(15);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}`;
}

/** Returns a root run, or a child of `parent`, as an SDK sends it. */
export function wireRun(
  session_name: string,
  fields: Record<string, unknown> = {},
  { at = Date.now(), parent }: { at?: number; parent?: WireRun } = {},
): WireRun {
  const id = typeof fields.id === "string" ? fields.id : idAt(at);
  const segment = toDottedOrder(at * 1000 + 1, id);
  return {
    id,
    session_name,
    name: "step",
    run_type: "chain",
    start_time: toIso(at * 1000 + 1),
    trace_id: parent?.trace_id ?? id,
    dotted_order: parent ? `${parent.dotted_order}.${segment}` : segment,
    ...(parent ? { parent_run_id: parent.id } : {}),
    inputs: { question: "why" },
    extra: { metadata: { user_id: "u1" }, runtime: { sdk: "test" } },
    ...fields,
  };
}

export function post(key: string, path: string, json: unknown): Promise<Response> {
  return api(path, { key, json });
}

export function patch(key: string, id: string, json: unknown): Promise<Response> {
  return api(`/runs/${id}`, { key, method: "PATCH", json });
}

export function batch(key: string, posts: unknown[], patches: unknown[] = []): Promise<Response> {
  return post(key, "/runs/batch", { post: posts, patch: patches });
}

export async function read(key: string, id: string): Promise<ReadRun> {
  const response = await api(`/runs/${id}`, { key });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json<ReadRun>();
}

export async function projectId(key: string, name: string): Promise<string | undefined> {
  const response = await api(`/sessions?name=${encodeURIComponent(name)}`, { key });
  const [project] = await response.json<{ id: string }[]>();
  return project?.id;
}

export type FormPart = { name: string; type?: string; headers?: string[]; data: BodyInit };

/** Encodes like SDKs: without file names, and with superfluous lengths. */
export async function multipart(parts: FormPart[], boundary = "----boundary"): Promise<Uint8Array> {
  const pieces: (string | ArrayBuffer)[] = [];
  for (const { name, type = "application/json", headers = [], data } of parts) {
    const lines = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${name}"`,
      `Content-Type: ${type}`,
      ...headers,
    ];
    pieces.push(`${lines.join("\r\n")}\r\n\r\n`, await new Response(data).arrayBuffer(), "\r\n");
  }
  pieces.push(`--${boundary}--\r\n`);
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Posts a run with attachments. */
export async function postWithFiles(
  key: string,
  run: WireRun,
  ...files: { name: string; type: string; data: string }[]
): Promise<Response> {
  const form = await multipart([
    { name: `post.${run.id}`, data: JSON.stringify(run) },
    ...files.map(({ name, type, data }) => ({
      name: `attachment.${run.id}.${name}`,
      type: `${type}; length=${data.length}`,
      data,
    })),
  ]);
  const headers = { "Content-Type": "multipart/form-data; boundary=----boundary" };
  const body = new TextDecoder().decode(form);
  return api("/runs/multipart", { key, method: "POST", headers, body });
}

/** Returns the partition's catalogue rows, after its alarm. */
export function catalogue(project_id: string) {
  return env.DB.prepare("SELECT * FROM partitions WHERE project_id = ? ORDER BY day, slot")
    .bind(project_id)
    .all<{ day: string; slot: number; rows: number; seq: number; bytes: number }>();
}
