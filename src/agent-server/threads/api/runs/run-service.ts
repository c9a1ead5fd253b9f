import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import type {
  ResultKind,
  RunRecord,
  RunRefusal,
  RunTarget,
  StreamChoice,
} from "../../contract/records.ts";
import type { RunCreate } from "../../contract/requests/run-schema.ts";
import { resumedInterrupts } from "../../contract/resumed-interrupts.ts";
import type { CancelAction, RunStatus } from "../../contract/run-decisions.ts";
import { MAX_LIST } from "../../contract/sizes.ts";
import { checkpointNotFound, threadNotFound } from "../../contract/state-answers.ts";
import { threadWithFilters } from "../../object/stub.ts";
import { openThread, valueTooLarge } from "../threads/service.ts";
import { buildRun } from "./build-run.ts";
import { mayHaveBegun } from "./idempotency.ts";

export async function createRun(ctx: Context, target: RunTarget, input: RunCreate) {
  return startRun(ctx, await findOrBuild(ctx, target, input));
}

/** Creates threadless runs. Builds all requests first, and creates no run when one cannot be built. */
export async function createRunBatch(ctx: Context, target: RunTarget, inputs: RunCreate[]) {
  const { idempotency_key: key } = target;
  const build = (input: RunCreate, n: number) =>
    findOrBuild(ctx, { ...target, ...(key && { idempotency_key: `${key} ${n}` }) }, input);
  const built = await Promise.all(inputs.map(build));
  return Promise.all(built.map((run) => startRun(ctx, run)));
}

type BuiltRun = Awaited<ReturnType<typeof buildRun>>;

/**
 * Builds a run. A threadless run with an idempotency key is addressed to the thread of the day before, or of the next day
 * when that may have begun, if that thread has a run with the key.
 */
async function findOrBuild(ctx: Context, target: RunTarget, input: RunCreate): Promise<BuiltRun> {
  const built = await buildRun(ctx, target, input);
  const { keyed } = built.request;
  if (!keyed || target.thread_id !== null) return built;
  const { earlier_id, later_id } = keyed;
  for (const thread_id of mayHaveBegun(later_id) ? [earlier_id, later_id] : [earlier_id]) {
    const other = { ...built, thread_id };
    if (await threadOf(ctx, other).hasRun(thread_id)) return other;
  }
  return built;
}

async function startRun(ctx: Context, built: BuiltRun): Promise<RunRecord> {
  return accepted(await threadOf(ctx, built).createRun(built.request), built).run;
}

export async function streamRun(
  ctx: Context,
  target: RunTarget,
  input: RunCreate,
  namespaces: string[] | null,
) {
  const built = await findOrBuild(ctx, target, input);
  const cancel_on_disconnect = input.on_disconnect === "cancel";
  const choice = { after: -1, modes: null, namespaces, cancel_on_disconnect };
  return accepted(await threadOf(ctx, built).streamRun(built.request, choice), built);
}

export async function waitRun(
  ctx: Context,
  target: RunTarget,
  input: RunCreate,
  kind: ResultKind = "wait",
) {
  const built = await findOrBuild(ctx, target, input);
  const on_disconnect = input.on_disconnect ?? "continue";
  return accepted(await threadOf(ctx, built).waitRun(built.request, on_disconnect, kind), built);
}

const QUEUE_RETRY_SECONDS = 5;
/** Maximum number of interrupts that an error names. */
const MAX_NAMED_IDS = 5;

/** Creates the run of a command. `last_event`: id of the thread's last event before the run. */
export async function commandRun(ctx: Context, target: RunTarget, input: RunCreate) {
  const built = await buildRun(ctx, target, input);
  const answer = await threadOf(ctx, built).commandRun(built.request);
  if (
    !answer.ok &&
    (answer.refusal === "no_pending_interrupt" || answer.refusal === "unknown_interrupt")
  ) {
    return { ok: false as const, refusal: answer.refusal };
  }
  return accepted(answer, built);
}

function threadOf({ env }: Context, { deployment_id, thread_id, filters }: BuiltRun) {
  return threadWithFilters(env, deployment_id, thread_id, filters);
}

/** Returns the answer of an accepted run. @throws AppError for a refusal */
function accepted<T extends { ok: true; run: RunRecord }>(
  answer: T | { ok: false; refusal: RunRefusal },
  { thread_id, request }: BuiltRun,
): T {
  if (answer.ok) return answer;
  if (answer.refusal === "checkpoint_missing") {
    throw checkpointNotFound(request.kwargs.config.configurable?.checkpoint_id, thread_id);
  }
  if (answer.refusal === "busy") {
    throw new AppError(
      "conflict",
      "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
    );
  }
  if (answer.refusal === "no_pending_interrupt" || answer.refusal === "unknown_interrupt") {
    const ids = resumedInterrupts(request.kwargs.command)?.slice(0, MAX_NAMED_IDS).join(", ");
    const text = `command.resume: interrupt ${ids} does not wait in thread ${thread_id} any more. It may have been answered: read the thread again.`;
    throw new AppError("conflict", text);
  }
  if (answer.refusal === "outdated") {
    const text = `If-Match: run ${request.after_run_id} is not the newest run of thread ${thread_id}: read the thread again.`;
    throw new AppError("conflict", text);
  }
  if (answer.refusal === "key_reused") {
    const text = "Idempotency-Key: was used with another body; use a new key for a new run.";
    throw new AppError("conflict", text);
  }
  if (answer.refusal === "queue_full") {
    const text = `Thread ${thread_id} has as many runs in flight, or as many bytes of their inputs, as it may have: wait until some have ended.`;
    throw new AppError("rate_limited", text, { retry_after_seconds: QUEUE_RETRY_SECONDS });
  }
  if (answer.refusal === "too_large") throw valueTooLarge("metadata or config");
  throw threadNotFound(thread_id);
}

type RunId = { deployment_id: string; thread_id: string; run_id: string };

export async function getRun(ctx: Context, { deployment_id, thread_id, run_id }: RunId) {
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "read", {});
  return (await object.getRun(run_id)) ?? runNotFound();
}

export async function listRuns(
  ctx: Context,
  thread: Omit<RunId, "run_id">,
  query: { status?: RunStatus | undefined; limit: number; offset: number },
) {
  const { object } = await openThread(ctx, thread, "search", { metadata: {} });
  const listed = await object.listRuns(query);
  if (listed.ok) return listed.runs;
  if (listed.refusal === "thread_missing") throw threadNotFound(thread.thread_id);
  const { characters, containers } = MAX_LIST;
  const message = `limit: the runs have more than ${characters} characters, or ${containers} objects and lists; use a smaller limit.`;
  throw new AppError("too_large", message);
}

export async function joinRun(ctx: Context, id: RunId, cancel_on_disconnect: boolean) {
  const object = await openFollowed(ctx, id, cancel_on_disconnect);
  return (await object.joinRun(id.run_id, cancel_on_disconnect)) ?? runNotFound();
}

export async function followRun(ctx: Context, id: RunId, follow: StreamChoice) {
  const object = await openFollowed(ctx, id, follow.cancel_on_disconnect);
  return (await object.followRun(id.run_id, follow)) ?? runNotFound();
}

/** Opens the thread of a run for a reader. A reader whose disconnection cancels the run needs `read` and `update`. */
async function openFollowed(ctx: Context, { run_id, ...thread }: RunId, cancels: boolean) {
  const { object } = await openThread(ctx, thread, "read", {});
  if (!cancels) return object;
  const { object: changeable } = await openThread(ctx, thread, "update", CANCEL);
  if (!(await object.hasRun(run_id))) runNotFound();
  return changeable;
}

const CANCEL: { action: CancelAction; metadata: Record<string, unknown> } = {
  action: "interrupt",
  metadata: {},
};

export async function cancelRun(
  ctx: Context,
  { deployment_id, thread_id, run_id }: RunId,
  action: CancelAction,
  options: { wait: boolean; reason: string | null },
) {
  const value = { ...CANCEL, action };
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "update", value);
  if (!(await object.cancelRun(run_id, action, options))) runNotFound();
}

export async function deleteRun(ctx: Context, { deployment_id, thread_id, run_id }: RunId) {
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "delete", { run_id });
  if (!(await object.deleteRun(run_id))) runNotFound();
}

function runNotFound(): never {
  throw new AppError("not_found", "Run not found");
}
