export type Resource = { name: string; id: string };

/** The recorded part of a change: never a body, never a secret. */
export type AuditedChange = {
  request_id: string;
  action: string;
  resources: Resource[];
  status: number;
};

const MAX_ID_CHARACTERS = 200;
const MAX_RESOURCES = 200;
/**
 * Maximum of characters of the resources of a row, because rows are never deleted. About 200 UUIDs with their names.
 */
const MAX_CHARACTERS = 10_000;

/** Returns whether an operation changes something. Its name decides too, because some reads are POST requests. */
export function isChanging(method: string, operationId: string): boolean {
  return (
    !["GET", "HEAD", "OPTIONS"].includes(method) && !/^(get|list|query)[A-Z]/.test(operationId)
  );
}

/** Operations that change something only when they add resources to `ctx.audited`: most calls return a stored token. */
const MOSTLY_READING = ["authenticateOAuth"];

/**
 * Selects successes, refusals (403), and errors after which a part may have changed: those of the server (5xx), and
 * those of operations that added resources to `ctx.audited`. Other responses changed nothing.
 */
export function isWorthRecording(
  action: string,
  status: number,
  audited: readonly Resource[],
): boolean {
  if (status === 403 || audited.length > 0) return true;
  return !MOSTLY_READING.includes(action) && (status < 400 || status >= 500);
}

/** Returns ids of the path, the query and the created resource, and those that the operation adds in `ctx.audited`. */
export function resourcesOf(
  path: Record<string, string>,
  query: Record<string, string[]>,
  answer: unknown,
  audited: Resource[] = [],
): Resource[] {
  const params = Object.entries(query)
    .filter(([name]) => /_ids?$/.test(name))
    .flatMap(([name, values]) =>
      values
        .flatMap((value) => value.split(","))
        .map((id) => ({ name: name.replace(/s$/, ""), id })),
    );
  const named = Object.entries(path).map(([name, id]) => ({ name, id }));
  const all = [...named, ...params, ...createdIn(answer), ...audited].slice(0, MAX_RESOURCES);
  let room = MAX_CHARACTERS;
  return all.flatMap((resource) => {
    const name = resource.name.slice(0, MAX_ID_CHARACTERS);
    const id = resource.id.trim().slice(0, MAX_ID_CHARACTERS);
    room -= name.length + id.length;
    return room < 0 ? [] : [{ name, id }];
  });
}

function createdIn(answer: unknown): Resource[] {
  if (Array.isArray(answer)) return answer.flatMap(createdIn);
  if (typeof answer !== "object" || answer === null) return [];
  return Object.entries(answer).flatMap(([name, id]) =>
    ["id", "provider_id"].includes(name) && typeof id === "string" ? [{ name, id }] : [],
  );
}
