import { WorkerEntrypoint } from "cloudflare:workers";
import { cronObject } from "./stub.ts";

/** What a thread that goes away tells: nothing may start runs on it any more. */
export class ThreadCrons extends WorkerEntrypoint<Env> {
  async end(deployment_id: string, thread_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfThread(thread_id);
  }
}
