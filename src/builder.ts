import { WorkerEntrypoint } from "cloudflare:workers";

export class Builder extends WorkerEntrypoint {
  async build(): Promise<void> {}
}

export default {
  fetch: () => new Response("The builder is reached by its service binding.", { status: 404 }),
};
