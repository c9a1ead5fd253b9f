import { and, eq } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { DatabaseOutageError, isDatabaseOutage } from "../../../shared/database/outage.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { withTimeout } from "../../../shared/work/timeout.ts";
import type { Artifact } from "../../builds/contract.ts";
import { readSecrets } from "../secrets.ts";
import { revisions } from "../table.ts";
import { contractProblem, toCurrentContract } from "./adapters.ts";
import { type CodeKey, type CodeRecord, putCodeRecord, readCodeRecord } from "./code-record.ts";

export type RevisionCode = { artifact: Artifact; env: Record<string, string> };

/** Maximum time that a load waits for D1 when R2 has a record. */
const DEADLINE_MS = 5000;

type EnvironmentSource = { deployment_id: string; config_env: Record<string, string> | null };

/** Reads the environment of the agent's code. Secrets override the `env` of langgraph.json. */
export async function readVariables(
  env: Env,
  { deployment_id, config_env }: EnvironmentSource,
): Promise<Record<string, string>> {
  return { ...config_env, ...(await readSecrets(env, deployment_id)) };
}

type RevisionRow = typeof revisions.$inferSelect;

/**
 * Sets or clears, in a deployed revision's row, why its code does not run here. The next load repeats a failed write.
 */
async function recordProblem(env: Env, row: RevisionRow, problem: string | null): Promise<void> {
  const { id, workspace_id, status, status_message } = row;
  if (problem !== null) log.warn("revision_refused", { revision_id: id, error: problem });
  if (status !== "DEPLOYED" || status_message === problem) return;
  await database(env)
    .update(revisions)
    .set({ status_message: problem })
    .where(and(eq(revisions.id, id), eq(revisions.workspace_id, workspace_id)))
    .catch(() => {});
}

/**
 * Reads a revision's code from R2. Its key and environment come from D1, or from the record of an earlier load when D1
 * does not answer.
 * @throws AppError `unavailable` when R2 fails, or D1 without such a record; `not_found` when the revision or its
 * artifact does not exist
 */
export async function readRevisionCode(env: Env, ref: CodeKey): Promise<RevisionCode> {
  const { row, record, artifact } = await readStored(env, ref).catch((error) => {
    if (error instanceof AppError) throw error;
    const why = `The code of revision ${ref.revision_id} could not be read: D1 or R2 failed.`;
    throw new AppError("unavailable", why, { retry_after_seconds: 5, cause: error });
  });
  if (row) await recordProblem(env, row, contractProblem(artifact));
  return { artifact: toCurrentContract(artifact), env: record.variables };
}

/** Reads the environment of a revision's code as a load of its isolate does. */
export async function readRevisionVariables(
  env: Env,
  ref: CodeKey,
): Promise<CodeRecord["variables"]> {
  return (await readRecord(env, ref)).record.variables;
}

async function readStored(env: Env, ref: CodeKey) {
  const { row, record } = await readRecord(env, ref);
  const [object] = await Promise.all([
    env.ARTIFACTS.get(record.artifact_key),
    row && putCodeRecord(env, ref, record),
  ]);
  if (object === null) {
    throw gone(`The artifact of revision ${ref.revision_id} is gone: ${record.artifact_key}`);
  }
  return { row, record, artifact: await object.json<Artifact>() };
}

async function readRecord(env: Env, ref: CodeKey) {
  const reading = readSource(env, ref);
  // Prevents an unhandled rejection when this read fails after the record was used.
  reading.catch(() => {});
  return withTimeout(reading, DEADLINE_MS, refuse).catch(async (error) => {
    const kept = isDatabaseOutage(error) ? await readCodeRecord(env, ref).catch(() => null) : null;
    return kept ? { row: null, record: kept } : reading;
  });
}

function gone(message: string): AppError {
  return new AppError("not_found", message);
}

function refuse(): never {
  throw new DatabaseOutageError(`D1 did not answer in ${DEADLINE_MS} ms`);
}

async function readSource(
  env: Env,
  ref: CodeKey,
): Promise<{ row: RevisionRow; record: CodeRecord }> {
  const [row] = await database(env)
    .select()
    .from(revisions)
    .where(eq(revisions.id, ref.revision_id));
  if (row?.deployment_id !== ref.deployment_id) {
    throw gone(`Revision ${ref.revision_id} of deployment ${ref.deployment_id} is gone`);
  }
  const { artifact_key, status } = row;
  if (artifact_key === null) {
    throw gone(`Revision ${ref.revision_id} has no artifact: it is ${status}`);
  }
  return { row, record: { artifact_key, variables: await readVariables(env, row) } };
}
