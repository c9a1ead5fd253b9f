import { randomToken, sha256Hex } from "../../../shared/crypto/crypto.ts";

type KeyKind = "personal" | "service";

const START = { personal: "lsv2_pt_", service: "lsv2_sk_" } as const;
const SECRET_LENGTH = 40;
const SHOWN_LENGTH = 4;

/** Creates a secret. `api_key` is returned once; `sha256` and `prefix` are stored. */
export function newApiKey(kind: KeyKind): { api_key: string; sha256: string; prefix: string } {
  const api_key = START[kind] + randomToken(SECRET_LENGTH);
  const prefix = api_key.slice(0, START[kind].length + SHOWN_LENGTH);
  return { api_key, sha256: sha256Hex(api_key), prefix };
}
