import { createApp } from "./app.ts";

/** One for requests from outside and from agents. */
export const served = createApp();
