import { createApp } from "./app.ts";

export { Egress } from "./shared/egress.ts";
export { ThreadObject } from "./threads/object.ts";

const app = createApp();

export default {
  fetch: app.fetch,
} satisfies ExportedHandler<Env>;
