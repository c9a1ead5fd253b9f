import { WorkerEntrypoint } from "cloudflare:workers";
import { cronObject } from "./stub.ts";

/** Deletes the crons of a thread or an assistant that is being deleted. */
export class ThreadCrons extends WorkerEntrypoint<Env> {
  async end(deployment_id: string, thread_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfThread(thread_id);
  }

  async endOfAssistant(deployment_id: string, assistant_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfAssistant(assistant_id);
  }
}
