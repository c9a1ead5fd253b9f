/** Reads the isolate of a Worker's script by V8's inspector. */
export type Inspector = {
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  close(): void;
};

/** Longer than any collection of garbage. */
const ANSWER_MS = 60_000;
const SILENT = "Was the Worker killed, or started again?";

/** Connects to the isolate of the Worker and its objects. */
export async function inspect(port: number): Promise<Inspector> {
  const socket = new WebSocket(await addressOf(port), { headers: { Origin: "http://localhost" } });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map<number, (result: Record<string, unknown>) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: object };
    if (id !== undefined) waiting.get(id)?.({ ...result });
    if (id !== undefined) waiting.delete(id);
  });
  let last = 0;
  return {
    call: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        const silent = () => reject(new Error(`The inspector is silent: ${method}. ${SILENT}`));
        const timer = setTimeout(silent, ANSWER_MS);
        waiting.set(id, (result) => {
          clearTimeout(timer);
          resolve(result);
        });
        socket.send(JSON.stringify({ id, method, params }));
      }),
    close: () => socket.close(),
  };
}

async function addressOf(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/json`);
  const isolates = (await response.json()) as { id: string; webSocketDebuggerUrl: string }[];
  const worker = isolates.find(({ id }) => /heddle$/.test(id));
  if (!worker) throw new Error(`No isolate of the Worker among ${JSON.stringify(isolates)}`);
  return worker.webSocketDebuggerUrl;
}

const SAMPLE_MS = 50;

/** Samples the heap until `stop`. Returns the peaks in MB, with objects and buffers that were not collected yet. */
export function watchHeap(inspector: Inspector) {
  const peak = { used_mb: 0, buffers_mb: 0 };
  const look = async () => {
    const usage = await inspector.call("Runtime.getHeapUsage");
    peak.used_mb = Math.max(peak.used_mb, megabytes(usage.usedSize));
    peak.buffers_mb = Math.max(peak.buffers_mb, megabytes(usage.backingStorageSize));
  };
  // liveHeap reports an inspector that does not answer.
  const timer = setInterval(() => void look().catch(() => undefined), SAMPLE_MS);
  return {
    stop() {
      clearInterval(timer);
      return peak;
    },
  };
}

/** Returns the heap after a collection. */
export async function liveHeap(inspector: Inspector) {
  await inspector.call("HeapProfiler.collectGarbage");
  const usage = await inspector.call("Runtime.getHeapUsage");
  return { used_mb: megabytes(usage.usedSize), buffers_mb: megabytes(usage.backingStorageSize) };
}

function megabytes(bytes: unknown): number {
  return Math.round(Number(bytes ?? 0) / 1e5) / 10;
}

/** Returns a CPU profile of `work`, in the format of browsers' tools. */
export async function profile(inspector: Inspector, work: () => Promise<unknown>): Promise<string> {
  await inspector.call("Profiler.enable");
  await inspector.call("Profiler.setSamplingInterval", { interval: 500 });
  await inspector.call("Profiler.start");
  await work();
  const { profile: found } = await inspector.call("Profiler.stop");
  return JSON.stringify(found);
}
