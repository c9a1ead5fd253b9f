import type { AgentFailure, Host, RunCall, RunOutcome, ThreadSummary } from "../contract.ts";
import type { AgentProps } from "../environment-contract.ts";
import { failureText, toFailure } from "../failure.ts";
import { PendingWork } from "../globals/pending-work.ts";
import { withServer } from "../globals/server.ts";
import {
  describeBytes,
  MAX_MESSAGE_BYTES,
  messageBytes,
  StateLimitError,
} from "../message-size.ts";
import { LoadError } from "../modules/agent-module.ts";
import { Outbox } from "../outbox.ts";
import { Call } from "../tcp/calls.ts";
import { isTracingOff, RunTracer } from "../tracing/run-tracer.ts";
import type { Open, RunTools } from "./engine.ts";
import { streamLogs } from "./lines.ts";
import { limitOf, RunTimeoutError, withinLimit } from "./run-limit.ts";
import { asRun } from "./tokens.ts";

/** Time after an abort at the time limit: with durability `exit`, LangGraph writes the run's only checkpoint then. */
const EXIT_GRACE_MS = 5000;

export async function runInContext(
  ctx: ExecutionContext<AgentProps>,
  open: Open,
  call: RunCall,
  host: Host,
): Promise<RunOutcome> {
  const { props } = ctx;
  const serving = await Call.begin();
  const pending = new PendingWork();
  // The runtime disposes the given stub with the call, and the run's code may use the store after it.
  const held = hold(host);
  const work = () => pending.run(() => runGraph(open, call, held, pending));
  const hasMore = () => pending.isLeft;
  try {
    const logged = () => streamLogs(props, () => withServer(props?.server, work), hasMore);
    return await serving.run(logged);
  } finally {
    const end = pending.isLeft ? pending.settled(() => serving.hasOthers) : Promise.resolve();
    serving.end(end.finally(() => held[Symbol.dispose]?.()));
  }
}

type HeldHost = Host & Partial<Disposable>;

function hold(host: Host & { dup?(): HeldHost }): HeldHost {
  return host.dup?.() ?? host;
}

async function runGraph(
  open: Open,
  call: RunCall,
  host: Host,
  pending: PendingWork,
): Promise<RunOutcome> {
  const abort = abortedBy(host, () => pending.abort());
  // After a failed commit the graph is aborted: nothing would store the answers of its next calls of models.
  const outbox = new Outbox(host, () => abort.abort("commit_failed"));
  const tracer = isTracingOff(process.env) ? null : new RunTracer(call, outbox);
  outbox.onSend((batch) => tracer?.piggyback(batch) ?? []);
  let summarize: () => Promise<ThreadSummary | null> = noSummary;
  const onSummary: RunTools["onSummary"] = (read) => {
    summarize = read;
  };
  const limit = {
    start: call.trace.start_time,
    seconds: limitOf(process.env),
    grace_ms: call.durability === "exit" ? EXIT_GRACE_MS : 0,
  };
  const end = await attempt(() => {
    const work = asRun({ host, traceparent: call.trace.traceparent ?? null }, async () => {
      const engine = await open(call, "threads.create_run");
      await engine.run(call, { host, outbox, signal: abort.signal, tracer, onSummary });
    });
    return withinLimit(work, limit, () => abort.abort("timeout"));
  });
  const { failure, is_timeout, summary } = withSummary(end, await summarize().catch(() => null));
  // The caller pulls the traces later, and the closure that returns them must not keep the state in memory.
  summarize = noSummary;
  if (failure && !(abort.signal.aborted && !is_timeout)) logFailure(call, failure);
  tracer?.finish(failure);
  const ops = await outbox.drain(summary ? messageBytes(summary.values) : 0);
  const traces = tracer && !tracer.isBrief ? async () => tracer.drain() : null;
  if (tracer && traces === null) ops.push(...tracer.drain().ops);
  return { ops, failure, is_timeout, summary, traces };
}

async function noSummary(): Promise<null> {
  return null;
}

type End = Pick<RunOutcome, "failure" | "is_timeout">;

/** Fails the run when its values do not fit one message: the run would otherwise count as lost, and be repeated. */
function withSummary(end: End, summary: ThreadSummary | null): End & Pick<RunOutcome, "summary"> {
  const bytes = summary ? messageBytes(summary.values) : 0;
  if (bytes <= MAX_MESSAGE_BYTES) return { ...end, summary };
  const text = `The values of the state have ${describeBytes(bytes)}, more than ${describeBytes(MAX_MESSAGE_BYTES)}. Store large values outside of the state.`;
  const failure = end.failure ?? toFailure(new StateLimitError(text));
  return { ...end, failure, summary: null };
}

function abortedBy(host: Host, onAbort: () => void): AbortController {
  const abort = new AbortController();
  abort.signal.addEventListener("abort", onAbort);
  void host.cancelled().then(
    (cancelled) => cancelled && abort.abort("cancelled"),
    () => {}, // The connection to the thread is lost: no cancellation can come.
  );
  return abort;
}

/** Writes the stack of a failed run to the deployment's log. */
function logFailure({ run_id }: RunCall, failure: AgentFailure): void {
  // biome-ignore lint/suspicious/noConsole: the log of the agent
  console.error(`Run ${run_id} failed: ${failureText(failure)}`);
}

async function attempt(work: () => Promise<void>) {
  try {
    await work();
    return { failure: null, is_timeout: false };
  } catch (error) {
    // Another isolate repeats the attempt.
    if (error instanceof LoadError) throw error;
    return { failure: toFailure(error), is_timeout: error instanceof RunTimeoutError };
  }
}
