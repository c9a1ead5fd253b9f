import { DurableObject } from "cloudflare:workers";

export class ThreadObject extends DurableObject<Env> {}
