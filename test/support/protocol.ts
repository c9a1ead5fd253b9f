import { CHANNELS } from "../../src/agent-server/threads/events/event.ts";
import { api } from "./workspace.ts";

type Data = Record<string, unknown> & { event?: string };
export type SentEvent = {
  type: "event";
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: Data };
};
type Answer = {
  type: "success" | "error";
  id: number | null;
  result?: Record<string, unknown>;
  error?: string;
  message?: string;
  meta?: { thread_id: string; applied_through_seq: number };
};

export const ALL = { channels: [...CHANNELS] };

/** A client of the v2 protocol over HTTP for one thread. */
export function protocolOf(
  agent: string,
  credentials: string | Record<string, string>,
  thread_id = crypto.randomUUID(),
) {
  const headers = typeof credentials === "string" ? { "X-Api-Key": credentials } : credentials;
  const path = `${agent}/threads/${thread_id}`;
  let id = 0;
  const command = async (method: string, params: unknown): Promise<Answer> => {
    id += 1;
    const response = await api(`${path}/commands`, { headers, json: { id, method, params } });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response.json<Answer>();
  };
  const start = async (assistant_id: string, params: object = {}) => {
    const { result, message } = await command("run.start", { assistant_id, input: {}, ...params });
    if (!result) throw new Error(message);
    return String(result.run_id);
  };
  const open = (json: object = ALL) => api(`${path}/stream/events`, { headers, json });
  /** Events up to the one that is looked for. */
  const events = async (isLast: (event: SentEvent) => boolean, json: object = ALL) =>
    takeUntil(await open(json), isLast);
  const socket = async () => openSocket(path, headers);
  return { path, thread_id, command, start, open, events, socket };
}

function isEndOfRun({ method, params }: SentEvent): boolean {
  const isOver = ["completed", "failed", "interrupted"].includes(params.data.event ?? "");
  return method === "lifecycle" && params.namespace.length === 0 && isOver;
}

/** The `n`th end of a run of the thread, in events that are looked at once. */
export function endOfRun(n = 1) {
  let left = n;
  return (event: SentEvent) => {
    if (isEndOfRun(event)) left -= 1;
    return left === 0;
  };
}

export async function takeUntil(
  response: Response,
  isLast: (event: SentEvent) => boolean,
): Promise<SentEvent[]> {
  const events: SentEvent[] = [];
  for await (const event of sentEvents(response)) {
    events.push(event);
    if (isLast(event)) break;
  }
  return events;
}

async function* sentEvents(response: Response): AsyncGenerator<SentEvent, void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

/** A client's half of a socket: its messages in the order in which they came. */
export async function openSocket(path: string, headers: Record<string, string>) {
  const response = await api(`${path}/stream/events`, {
    headers: { Upgrade: "websocket", ...headers },
  });
  const { webSocket, status } = response;
  if (!webSocket) throw new Error(`${status} ${await response.text()}`);
  const messages: (Answer | SentEvent)[] = [];
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  let wake = Promise.withResolvers<void>();
  webSocket.addEventListener("message", ({ data }) => {
    messages.push(JSON.parse(String(data)));
    wake.resolve();
    wake = Promise.withResolvers();
  });
  webSocket.addEventListener("close", ({ code, reason }) => closed.resolve({ code, reason }));
  webSocket.accept();
  let id = 100;
  const events = () => messages.filter((message): message is SentEvent => message.type === "event");
  const until = async <T>(find: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await wake.promise;
    }
  };
  const answer = (mine: number | null) =>
    until(() =>
      messages.find(
        (message): message is Answer => message.type !== "event" && message.id === mine,
      ),
    );
  /** So many runs have ended. */
  const ends = (n: number) =>
    until(() => (events().filter(isEndOfRun).length >= n ? true : undefined));
  const send = (text: string) => webSocket.send(text);
  const command = (method: string, params: unknown): Promise<Answer> => {
    id += 1;
    const mine = id;
    send(JSON.stringify({ id: mine, method, params }));
    return answer(mine);
  };
  const close = (code?: number, reason?: string) => webSocket.close(code, reason);
  const { headers: answered } = response;
  return {
    messages,
    events,
    ends,
    until,
    answer,
    send,
    command,
    close,
    closed: closed.promise,
    answered,
  };
}
