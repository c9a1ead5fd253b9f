import { WorkerEntrypoint } from "cloudflare:workers";
import { cronObject } from "./stub.ts";

/** What a thread or an assistant that goes away tells: nothing may start runs of it any more. */
export class ThreadCrons extends WorkerEntrypoint<Env> {
  async end(deployment_id: string, thread_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfThread(thread_id);
  }

  async endOfAssistant(deployment_id: string, assistant_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfAssistant(assistant_id);
  }
}
