import type { Operation } from "./document.ts";

type Route = Pick<Operation, "method" | "path">;

/** Ids of existing resources, by the names that parameters of paths and fields of bodies have. */
export type Pool = {
  ids(name: string, place: Route): string[];
  learn(place: Route, answer: unknown): void;
};

export const MAX_IDS = 20;

/** Names that other operations have for the `id` of an answer, by the path of its request. */
const NOUNS: [RegExp, string[]][] = [
  [/\/revisions$/, ["revision_id"]],
  [/\/v2\/deployments$/, ["deployment_id"]],
  [/destinations$/, ["destination_id", "bulk_export_destination_id"]],
  [/bulk-exports$/, ["bulk_export_id", "source_bulk_export_id"]],
  [/sessions$/, ["session_id"]],
  [/feedback$/, ["feedback_id"]],
  [/integrations/, ["integration_id"]],
  [/\/v1\/alerts$/, ["alert_id"]],
  [/listeners$/, ["listener_id"]],
  [/connections$/, ["connection_id"]],
];

/** Fields and parameters that the pool may have ids for. */
const ID_NAME = /_ids?$|^(session|run|trace|provider)s?$/;

/** Short names, and the full name of the same id. */
const SAME: Record<string, string> = { session: "session_id", run: "run_id", trace: "run_id" };

export function isIdName(name: string): boolean {
  return ID_NAME.test(name);
}

/** `kept` are ids of resources that are never deleted, so that later requests find some. */
export function idPool(kept: Record<string, string>): Pool {
  const known = new Map<string, string[]>();
  const add = (name: string, id: unknown) => {
    if (typeof id !== "string" || id === kept[name]) return;
    known.set(name, [id, ...(known.get(name) ?? [])].slice(0, MAX_IDS));
  };
  return {
    ids(given, place) {
      const name = nameOf(given, place);
      const first = kept[name];
      const learned = known.get(name) ?? [];
      return first === undefined || isDeleted(given, place) ? learned : [first, ...learned];
    },
    learn(place, answer) {
      if (typeof answer !== "object" || answer === null) return;
      for (const [field, value] of Object.entries(answer)) {
        for (const name of namesOf(place, field)) add(name, value);
      }
    },
  };
}

/** Whether the request deletes the resource of this id. A DELETE keeps the resources of ids amid its path. */
function isDeleted(given: string, place: Route): boolean {
  const { method, path } = place;
  if (path.endsWith("/delete")) return nameOf(given, place) === "run_id";
  return method === "DELETE" && (path.endsWith(`{${given}}`) || !path.includes(`{${given}}`));
}

/** Returns the name under which the pool keeps an id. Agents' runs differ from traces' runs. */
function nameOf(given: string, { path }: Route): string {
  const one = given.replace(/s$/, "");
  const name = SAME[one] ?? (one.endsWith("_id") ? one : given);
  return name === "run_id" && path.startsWith("/agents/") ? "agent_run_id" : name;
}

function namesOf(place: Route, field: string): string[] {
  if (field.endsWith("_id")) return [nameOf(field, place)];
  if (field !== "id") return [];
  return NOUNS.find(([pattern]) => pattern.test(place.path))?.[1] ?? [];
}
