/** Ids of what is there, by the names that paths and bodies have for them. */
export type Pool = {
  ids(name: string, method: string): string[];
  learn(operation_path: string, answer: unknown): void;
};

const MAX_IDS = 20;

/** What `id` of an answer is called elsewhere, by the path that answered. */
const NOUNS: [RegExp, string[]][] = [
  [/\/revisions$/, ["revision_id"]],
  [/\/v2\/deployments$/, ["deployment_id"]],
  [/destinations$/, ["destination_id", "bulk_export_destination_id"]],
  [/bulk-exports$/, ["bulk_export_id", "source_bulk_export_id"]],
  [/sessions$/, ["session_id"]],
  [/feedback$/, ["feedback_id"]],
  [/integrations/, ["integration_id"]],
  [/listeners$/, ["listener_id"]],
  [/connections$/, ["connection_id"]],
];

/** `kept` are ids that a DELETE is never given, so that later requests still find something. */
export function idPool(kept: Record<string, string>): Pool {
  const known = new Map<string, string[]>();
  const add = (name: string, id: unknown) => {
    if (typeof id === "string") known.set(name, [id, ...(known.get(name) ?? [])].slice(0, MAX_IDS));
  };
  return {
    ids(name, method) {
      const first = kept[name];
      const learned = known.get(name) ?? [];
      return first === undefined || method === "DELETE" ? learned : [first, ...learned];
    },
    learn(path, answer) {
      if (typeof answer !== "object" || answer === null) return;
      for (const [field, value] of Object.entries(answer)) {
        for (const name of namesOf(path, field)) add(name, value);
      }
    },
  };
}

function namesOf(path: string, field: string): string[] {
  if (field.endsWith("_id")) return [field];
  if (field !== "id") return [];
  return NOUNS.find(([pattern]) => pattern.test(path))?.[1] ?? [];
}
