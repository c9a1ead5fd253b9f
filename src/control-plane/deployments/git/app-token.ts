import { createPrivateKey } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { importPKCS8, SignJWT } from "jose";
import { isBusy } from "../../../shared/egress/busy.ts";
import { egressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { TtlCache } from "../../../shared/work/ttl-cache.ts";
import { apiUrl } from "./git-host.ts";

export type App = { app_id: string; installation_id: number; private_key: string };

const LIMITS = { timeout_ms: 10_000, max_bytes: 64 * 1024 };
/** The host allows ten minutes from `iat`, which is set back for a host whose clock is behind. */
const JWT_SECONDS = 540;
const CLOCK_SKEW_SECONDS = 60;
/** Minimum validity of a cached token, so that it lasts for a build. */
const MIN_VALIDITY_MS = 5 * 60_000;

const Answer = z.object({ token: z.string(), expires_at: z.iso.datetime({ offset: true }) });

/** Tokens by the ciphertext of the app's private key, so that a new key does not get an old token. */
const cache = new TtlCache<z.infer<typeof Answer>>(
  ({ expires_at }) => Date.parse(expires_at) - MIN_VALIDITY_MS - Date.now(),
);

/**
 * Returns a token of the app's installation. Cached until `MIN_VALIDITY_MS` before its expiry, which is after an hour.
 */
export async function installationToken(
  env: Env,
  { api_url, ciphertext }: { api_url: string; ciphertext: string },
  app: App,
): Promise<string> {
  const { token } = await cache.get(ciphertext, () => requestToken(env, api_url, app));
  return token;
}

async function requestToken(env: Env, api_url: string, app: App) {
  const response = await safeFetch(
    egressPolicy(env, "builds"),
    apiUrl(api_url, `/app/installations/${app.installation_id}/access_tokens`),
    {
      method: "POST",
      headers: {
        authorization: `Bearer ${await appJwt(app)}`,
        accept: "application/vnd.github+json",
        "user-agent": "heddle",
      },
    },
    LIMITS,
  );
  if (response.status !== 201) {
    await response.body?.cancel();
    throw refused(response, api_url, app);
  }
  return Answer.parse(await response.json());
}

function refused(response: Response, api_url: string, { app_id, installation_id }: App): AppError {
  const text = `${new URL(api_url).host} refused a token for installation ${installation_id} of app ${app_id}: it answers ${response.status}`;
  if (isBusy(response)) return new AppError("unavailable", `${text}; try again later.`);
  const remedy = "check that the app is installed and not suspended, and that its key is valid";
  return new AppError("bad_request", `${text}; ${remedy}.`);
}

async function appJwt({ app_id, private_key }: App): Promise<string> {
  const key = await importPKCS8(toPkcs8(private_key) ?? "", "RS256");
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: "RS256" })
    .setIssuer(app_id)
    .setIssuedAt(now - CLOCK_SKEW_SECONDS)
    .setExpirationTime(now + JWT_SECONDS)
    .sign(key);
}

/** Hosts issue PKCS#1 keys, which Web Crypto does not import. @returns `null` without an RSA key */
export function toPkcs8(pem: string): string | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa"
      ? key.export({ type: "pkcs8", format: "pem" }).toString()
      : null;
  } catch {
    return null;
  }
}
