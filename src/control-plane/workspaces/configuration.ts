export type Region = { name: string; url: string };

/**
 * Returns the problem of the variables, `null` without one. An issuer needs an audience, because it may issue tokens
 * for other applications too.
 */
export function configurationProblem({
  OIDC_ISSUER = "",
  OIDC_AUDIENCE = "",
  REGIONS = "",
}: {
  OIDC_ISSUER?: string;
  OIDC_AUDIENCE?: string;
  REGIONS?: string;
}): string | null {
  if (OIDC_ISSUER !== "" && OIDC_AUDIENCE === "") {
    return "OIDC_AUDIENCE is empty: set it to the audience of this installation's tokens, or unset OIDC_ISSUER.";
  }
  const wrong = entriesOf(REGIONS).find((entry) => toRegion(entry) === null);
  if (wrong === undefined) return null;
  return `REGIONS: "${wrong}" must be a name and an origin, such as eu=https://eu.heddle.example.com.`;
}

/** Reads a variable that `configurationProblem` accepts. */
export function readRegions(text: string): Region[] {
  return entriesOf(text).flatMap((entry) => toRegion(entry) ?? []);
}

function entriesOf(text: string): string[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter(Boolean);
}

function toRegion(entry: string): Region | null {
  const at = entry.indexOf("=");
  const name = entry.slice(0, at);
  const url = URL.parse(entry.slice(at + 1));
  if (!/^[a-z0-9-]{1,30}$/.test(name) || url === null) return null;
  const isOrigin = ["https:", "http:"].includes(url.protocol) && url.href === `${url.origin}/`;
  return isOrigin ? { name, url: url.origin } : null;
}
