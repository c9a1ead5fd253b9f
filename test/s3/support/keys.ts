import type { FaultProxy } from "../../support/node/fault-proxy.ts";
import type { Keys } from "../../support/s3-info.ts";
import { s3 } from "./s3.ts";

/** Temporary keys. The proxy revokes them where the server has none. */
export async function passingKeys(
  proxy: FaultProxy,
): Promise<{ keys: Keys; revoke(): Promise<void> }> {
  const { key_desk } = s3;
  if (key_desk === null) return { keys: s3, revoke: async () => refuse(proxy) };
  const id = crypto.randomUUID().replaceAll("-", "").toUpperCase();
  const keys = { access_key_id: `AKID${id.slice(0, 16)}`, secret_access_key: id };
  const call = async (method: string) => {
    const answer = await fetch(key_desk, { method, body: JSON.stringify(keys) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  await call("PUT");
  return { keys, revoke: () => call("DELETE") };
}

function refuse(proxy: FaultProxy): void {
  const body = "<Error><Code>InvalidAccessKeyId</Code><Message>Unknown key.</Message></Error>";
  proxy.fail({ answer: { status: 403, body }, times: Number.POSITIVE_INFINITY });
}
