// How a stack differs from wrangler.toml: variables of the Worker, as HEDDLE_<name> in the environment.

/** All of wrangler.toml's but the jurisdiction, which workerd cannot give. */
export const SETTABLE = [
  "BASE_URL",
  "AGENTS_DOMAIN",
  "REGISTRY_URL",
  "EGRESS_ALLOW_PRIVATE",
  "EGRESS_DNS_URL",
  "OIDC_ISSUER",
  "OIDC_AUDIENCE",
  "PUBLISHED_READ_LIMITS",
  "TRUNCATE_ALLOWED",
] as const;

export type Variables = Partial<Record<(typeof SETTABLE)[number], string>>;

const PREFIX = "HEDDLE_";
/** Said to the stack and not to the Worker. */
const OTHERS = ["DIR", "REGION"];

/** Of the environment; a name that means nothing is an error, so that a misspelt one is not a silent default. */
export function readVariables(environment: NodeJS.ProcessEnv): Variables {
  const variables: Variables = {};
  for (const [key, value] of Object.entries(environment)) {
    const name = key.slice(PREFIX.length);
    if (!key.startsWith(PREFIX) || OTHERS.includes(name) || value === undefined) continue;
    const known = SETTABLE.find((each) => each === name);
    if (known === undefined) {
      const names = [...OTHERS, ...SETTABLE].map((each) => `${PREFIX}${each}`).join(", ");
      throw new Error(`${key} is no setting; there are ${names}.`);
    }
    variables[known] = value;
  }
  return variables;
}
