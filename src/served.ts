import { unmount } from "./agent-server/access/mount.ts";
import { createApp } from "./app.ts";
import { log } from "./shared/log.ts";

const app = createApp();

export const served = { fetch };

async function fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  try {
    return await app.fetch(await unmount(request, env), env, ctx);
  } catch (error) {
    log.error("request_failed", error);
    return new Response("Internal error", { status: 500 });
  }
}
