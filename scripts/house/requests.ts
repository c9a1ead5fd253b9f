import { dirname } from "node:path";
import type { Source } from "./sources.ts";

/** A call from one file to another that a request makes: the caller, the callee and its function. */
type Call = readonly [caller: string, callee: string, name: string];

const THREADS = "src/agent-server/threads";
const TRACES = "src/traces";
const CONTROL = "src/control-plane/deployments";

/**
 * The calls between files of features, in order, from a route to storage; `shared` is left out. The table is written
 * by hand, because types resolve the methods of objects: `brokenCalls` checks each call against the sources.
 */
export const REQUESTS: Record<string, readonly Call[]> = {
  "a run request": [
    [`${THREADS}/runs/run-routes.ts`, `${THREADS}/runs/run-service.ts`, "createRun"],
    [`${THREADS}/runs/run-service.ts`, `${THREADS}/runs/build-run.ts`, "buildRun"],
    [`${THREADS}/runs/build-run.ts`, "src/agent-server/access/service.ts", "openAgent"],
    ["src/agent-server/access/service.ts", `${CONTROL}/api/service.ts`, "activeRevision"],
    [`${CONTROL}/api/service.ts`, `${CONTROL}/active.ts`, "findActive"],
    [`${THREADS}/runs/build-run.ts`, "src/agent-server/webhooks/service.ts", "assertWebhook"],
    [`${THREADS}/runs/build-run.ts`, "src/agent-server/access/service.ts", "authorize"],
    [`${THREADS}/runs/build-run.ts`, `${THREADS}/service/service.ts`, "newThread"],
    [`${THREADS}/runs/build-run.ts`, `${THREADS}/assistants/run-assistants.ts`, "resolveAssistant"],
    [
      `${THREADS}/assistants/run-assistants.ts`,
      `${THREADS}/assistants/assistant-rows.ts`,
      "findAssistantRow",
    ],
    [`${THREADS}/runs/build-run.ts`, `${THREADS}/runs/run-request.ts`, "toRunRequest"],
    [`${THREADS}/runs/run-service.ts`, `${THREADS}/object/stub.ts`, "threadWithFilters"],
    [`${THREADS}/object/stub.ts`, `${THREADS}/object/object.ts`, "call"],
    [`${THREADS}/object/object.ts`, `${THREADS}/object/run-methods.ts`, "createRun"],
    [`${THREADS}/object/run-methods.ts`, `${THREADS}/loop/run-loop.ts`, "accept"],
    [`${THREADS}/loop/run-loop.ts`, `${THREADS}/loop/merge.ts`, "planRun"],
    [`${THREADS}/loop/merge.ts`, `${THREADS}/runs.ts`, "decideMultitask"],
    [`${THREADS}/loop/run-loop.ts`, `${THREADS}/storage/store.ts`, "transaction"],
    [`${THREADS}/loop/run-loop.ts`, `${THREADS}/storage/runs.ts`, "insert"],
    [`${THREADS}/storage/runs.ts`, `${THREADS}/log/parts.ts`, "put"],
    [`${THREADS}/storage/store.ts`, `${THREADS}/storage/run-queue.ts`, "flush"],
    [`${THREADS}/storage/run-queue.ts`, `${THREADS}/storage/run-table.ts`, "insertRun"],
    [`${THREADS}/storage/run-table.ts`, `${THREADS}/log/insert.ts`, "insertRows"],
  ],
  "a trace query": [
    [`${TRACES}/query/query-routes.ts`, `${TRACES}/query/query-service.ts`, "queryRuns"],
    [`${TRACES}/query/query-service.ts`, `${TRACES}/rates.ts`, "assertReadRate"],
    [`${TRACES}/query/query-service.ts`, `${TRACES}/query/query-plan.ts`, "toPlan"],
    [`${TRACES}/query/query-plan.ts`, `${TRACES}/filter/parse.ts`, "parseFilter"],
    [`${TRACES}/filter/parse.ts`, `${TRACES}/filter/syntax.ts`, "parseSyntax"],
    [`${TRACES}/filter/parse.ts`, `${TRACES}/filter/check.ts`, "checkFilter"],
    [`${TRACES}/query/query-service.ts`, `${TRACES}/query/scope.ts`, "partitionsInScope"],
    [`${TRACES}/query/scope.ts`, `${TRACES}/object/projects.ts`, "resolveProject"],
    [`${TRACES}/query/query-service.ts`, `${TRACES}/query/page-search.ts`, "searchPartitions"],
    [`${TRACES}/query/page-search.ts`, `${TRACES}/query/far-traces.ts`, "matchFarTraces"],
    [`${TRACES}/query/page-search.ts`, `${TRACES}/object/stub.ts`, "tracePartition"],
    [`${TRACES}/query/page-search.ts`, `${TRACES}/object/object.ts`, "findRuns"],
    [`${TRACES}/object/object.ts`, `${TRACES}/object/partition-reads.ts`, "findRuns"],
    [`${TRACES}/object/partition-reads.ts`, `${TRACES}/reads/run-reader.ts`, "find"],
    [`${TRACES}/reads/run-reader.ts`, `${TRACES}/evaluate/evaluate.ts`, "toRunTest"],
    [`${TRACES}/reads/run-reader.ts`, `${TRACES}/evaluate/candidates.ts`, "findCandidates"],
    [`${TRACES}/query/query-service.ts`, `${TRACES}/query/to-run.ts`, "toRun"],
    [`${TRACES}/query/to-run.ts`, `${TRACES}/object/payloads.ts`, "loadText"],
  ],
};

/** Calls the methods of a thread by their names. */
const DISPATCHER = `${THREADS}/object/object.ts`;

/** Returns calls of the table that the sources do not make. */
export function brokenCalls(sources: readonly Source[], calls: readonly Call[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  return calls.flatMap(([from, to, name]) => {
    const [caller, callee] = [byPath.get(from), byPath.get(to)];
    if (!caller || !callee) return [`${from} -> ${to}: no such file`];
    const fields = caller.files.flatMap((file) => byPath.get(file)?.files ?? []);
    const isImported = [...caller.files, ...fields].includes(to) || isStubOf(from, to);
    const isCalled = from === DISPATCHER || new RegExp(`\\b${name}\\(`).test(caller.text);
    const isDeclared = new RegExp(`(function |^  (async )?)${name}[(<]`, "m").test(callee.text);
    return isImported && isCalled && isDeclared ? [] : [`${from} -> ${to}: ${name}`];
  });
}

/** A stub reaches its object by RPC, without an import. */
function isStubOf(stub: string, object: string): boolean {
  return stub.endsWith("/stub.ts") && object === `${dirname(stub)}/object.ts`;
}

/** Returns the rooms (folders) that a request enters, and the files that more than one file enters. */
export function roomsOf(calls: readonly Call[]): { rooms: string[]; revisited: string[] } {
  const callers = new Map<string, Set<string>>();
  for (const [from, to] of calls) callers.set(to, (callers.get(to) ?? new Set()).add(from));
  const files = [...calls.slice(0, 1).map(([from]) => from), ...callers.keys()];
  return {
    rooms: [...new Set(files.map((file) => dirname(file)))],
    revisited: [...callers].filter(([, from]) => from.size > 1).map(([file]) => file),
  };
}
