/** A failure that the operator can repair: printed without a stack. */
export class DeployError extends Error {}

const TOKENS = "https://dash.cloudflare.com/profile/api-tokens";

/** Permissions of an API token by the path of the call. */
const PERMISSIONS: [RegExp, string][] = [
  [/\/d1\//, "Account > D1 > Edit"],
  [/\/r2\//, "Account > Workers R2 Storage > Edit"],
  [/\/queues/, "Account > Queues > Edit"],
  [/\/zones/, "Zone > Workers Routes > Edit"],
  [/\/(?:workers|triggers)\b/, "Account > Workers Scripts > Edit"],
];

const FORBIDDEN = [9106, 9109, 10000];
const REMEDIES: Record<number, string> = {
  6003: `CLOUDFLARE_API_TOKEN is malformed: copy it again from ${TOKENS}.`,
  6111: `CLOUDFLARE_API_TOKEN is malformed: copy it again from ${TOKENS}.`,
  7003: "CLOUDFLARE_ACCOUNT_ID names no account: copy it from the dashboard's overview of Workers.",
  10042: "Enable R2 in the dashboard (Storage & databases > R2).",
};

export function isForbidden(code: number | null): boolean {
  return code !== null && FORBIDDEN.includes(code);
}

/** Describes a failed call of the API at `path`, with the remedy if one is known. */
export function describeProblem(path: string, code: number | null, message: string): string {
  const failed = `The call of ${path} failed: ${message}${code === null ? "" : ` (code ${code})`}`;
  const remedy = code === null ? undefined : (REMEDIES[code] ?? remedyOf(path, code));
  return remedy === undefined ? failed : `${failed}\n${remedy}`;
}

function remedyOf(path: string, code: number): string | undefined {
  if (!isForbidden(code)) return undefined;
  const permission = PERMISSIONS.find(([pattern]) => pattern.test(path))?.[1];
  return (
    `The token is not valid, or it lacks the permission ${permission ?? "for this call"} on the account ` +
    `of CLOUDFLARE_ACCOUNT_ID. Edit it at ${TOKENS}.`
  );
}
