import { secureHeaders } from "hono/secure-headers";

type Options = NonNullable<Parameters<typeof secureHeaders>[0]>;

/** Returns middleware for Heddle's own pages: no opener, no frame, no referrer. The operator decides about HSTS. */
export function pageHeaders(policy: NonNullable<Options["contentSecurityPolicy"]>) {
  const none = ["'none'"];
  return secureHeaders({
    strictTransportSecurity: false,
    contentSecurityPolicy: { defaultSrc: none, baseUri: none, ...policy, frameAncestors: none },
  });
}
