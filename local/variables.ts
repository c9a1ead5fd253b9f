// How a stack differs from wrangler.toml: variables of the Worker, as HEDDLE_<name> in the environment.

/**
 * All variables of wrangler.toml except DATA_JURISDICTION, because workerd has no jurisdictions, and LOCAL_PORTS, which
 * the stack sets.
 */
export const SETTABLE = [
  "BASE_URL",
  "AGENTS_DOMAIN",
  "REGISTRY_URL",
  "EGRESS_PRIVATE_BUILDS",
  "EGRESS_PRIVATE_EXPORTS",
  "EGRESS_PRIVATE_WEBHOOKS",
  "EGRESS_PRIVATE_OAUTH",
  "EGRESS_AGENT_HOSTS",
  "EGRESS_DNS_URL",
  "OIDC_ISSUER",
  "OIDC_AUDIENCE",
  "OIDC_CLIENT_ID",
  "REGIONS",
  "EXAMPLES_URL",
  "DEFAULT_TRACE_TIER",
  "SHORTLIVED_DAYS",
  "LONGLIVED_DAYS",
  "PUBLISHED_READ_LIMITS",
  "TRUNCATE_ALLOWED",
] as const;

/** Optional secrets. */
const SECRETS = ["OIDC_CLIENT_SECRET", "OPERATOR_TOKEN"] as const;

export type Variables = Partial<
  Record<(typeof SETTABLE)[number] | (typeof SECRETS)[number], string>
>;

/**
 * Allowed because the git host, the S3 server and receivers are on loopback. Agents need EGRESS_AGENT_HOSTS instead.
 */
export const LOCAL_SWITCHES = {
  EGRESS_PRIVATE_BUILDS: "true",
  EGRESS_PRIVATE_EXPORTS: "true",
  EGRESS_PRIVATE_WEBHOOKS: "true",
  EGRESS_PRIVATE_OAUTH: "true",
} as const satisfies Variables;

const PREFIX = "HEDDLE_";
/** Settings of the stack, which the Worker does not receive. */
const OTHERS = ["DIR", "REGION", "AGENTS_IN_MAIN"];

/**
 * Reads the variables of the Worker from the environment.
 * @throws Error for an unknown name with the prefix: a misspelt variable would silently have its default
 */
export function readVariables(environment: NodeJS.ProcessEnv): Variables {
  const variables: Variables = {};
  for (const [key, value] of Object.entries(environment)) {
    const name = key.slice(PREFIX.length);
    if (!key.startsWith(PREFIX) || OTHERS.includes(name) || value === undefined) continue;
    const known = [...SETTABLE, ...SECRETS].find((each) => each === name);
    if (known === undefined) {
      const names = [...OTHERS, ...SETTABLE, ...SECRETS]
        .map((each) => `${PREFIX}${each}`)
        .join(", ");
      throw new Error(`${key} is not a setting. Settings: ${names}.`);
    }
    variables[known] = value;
  }
  return variables;
}

/** Whether all agents run in the Worker's process. */
export function readAgentsInMain({ HEDDLE_AGENTS_IN_MAIN: wanted = "false" }: NodeJS.ProcessEnv) {
  if (wanted === "true" || wanted === "false") return wanted === "true";
  throw new Error(`HEDDLE_AGENTS_IN_MAIN is "${wanted}"; give true or false.`);
}

/**
 * Checks that each entry is host:port. Refuses the Worker's own port: there an agent could pose as any client, because
 * a caller on this machine may set CF-Connecting-IP.
 * @throws Error
 */
export function assertAgentHosts(hosts = "", port: number): void {
  for (const entry of hosts.split(",").filter(Boolean)) {
    const url = URL.parse(`http://${entry.trim()}`);
    const isHost = url !== null && /^[^/@?#\s]+:\d+$/.test(entry.trim());
    if (!isHost) {
      throw new Error(`EGRESS_AGENT_HOSTS: "${entry}" must be host:port, like 127.0.0.1:11434.`);
    }
    if (url.port === String(port)) {
      throw new Error(`EGRESS_AGENT_HOSTS: "${entry}" must not name the Worker's own port.`);
    }
  }
}
