import { hasTemplates } from "./own-headers.ts";
import type { UrlRules, WebhookSettings } from "./settings.ts";

const DEFAULT_PORTS: Record<string, number> = { "https:": 443, "http:": 80 };
const [MAX_NAMED, AGENT] = [10, "of this agent's langgraph.json"];

/**
 * Checks a URL or a path against the rules of the agent's langgraph.json.
 * @returns the broken rule and its remedy, to follow the name of the webhook; `null` when none is broken
 */
export function webhookProblem(webhook: string, settings: WebhookSettings): string | null {
  const rules = settings.url ?? {};
  const isElsewhere = !webhook.startsWith("/");
  if (isElsewhere && hasTemplates(settings) && !rules.allowed_domains?.length) {
    return `would receive secrets, because webhooks.headers ${AGENT} has variables: set webhooks.url.allowed_domains`;
  }
  return brokenRule(webhook, rules);
}

/** @returns the rule that the URL breaks, or `null` */
export function brokenRule(webhook: string, rules: UrlRules): string | null {
  const { max_url_length: max, disable_loopback } = rules;
  if (max && webhook.length > max) {
    return `has ${webhook.length} characters; webhooks.url.max_url_length ${AGENT} is ${max}`;
  }
  if (!webhook.startsWith("/")) return brokenByUrl(new URL(webhook), rules);
  if (!disable_loopback) return null;
  return `is a path, which webhooks.url.disable_loopback ${AGENT} forbids: use a full URL`;
}

function brokenByUrl(url: URL, rules: UrlRules): string | null {
  const { require_https, allowed_domains, allowed_ports } = rules;
  if (require_https && url.protocol !== "https:") {
    return `must begin with https:// (webhooks.url.require_https ${AGENT})`;
  }
  if (allowed_domains?.length && !allowed_domains.some((domain) => isOf(url, domain))) {
    const why = `webhooks.url.allowed_domains ${AGENT} are ${someOf(allowed_domains)}`;
    return `leads to ${url.hostname}; ${why}`;
  }
  const port = url.port === "" ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port);
  if (allowed_ports?.length && !allowed_ports.includes(port)) {
    return `leads to port ${port}; webhooks.url.allowed_ports ${AGENT} are ${someOf(allowed_ports)}`;
  }
  return null;
}

/** Whether a host matches: `*.example.org` matches every name below example.org, and not example.org. */
function isOf({ hostname }: URL, domain: string): boolean {
  const isBelow = domain.startsWith("*.");
  // Normalizes the domain like the URL's host: lower case, punycode.
  const hostToMatch = URL.parse(`https://${isBelow ? domain.slice(2) : domain}`)?.hostname;
  const host = hostname.replace(/\.$/, "");
  return (
    hostToMatch !== undefined && (isBelow ? host.endsWith(`.${hostToMatch}`) : host === hostToMatch)
  );
}

function someOf(allowed: (string | number)[]): string {
  const more = allowed.length > MAX_NAMED ? ` and ${allowed.length - MAX_NAMED} more` : "";
  return allowed.slice(0, MAX_NAMED).join(", ") + more;
}
