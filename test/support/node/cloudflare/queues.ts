import { randomUUID } from "node:crypto";
import { ApiFailure, type Call, json, Paged, type Routes } from "./api.ts";

type Consumer = { consumer_id: string; type: string; script: string; dead_letter_queue?: string };
type Queue = {
  queue_id: string;
  queue_name: string;
  jurisdiction: string | null;
  settings: Record<string, number>;
  consumers: Consumer[];
};
type NewQueue = Pick<Queue, "queue_name" | "settings"> & { jurisdiction?: string };
type NewConsumer = { type: string; script_name: string; dead_letter_queue?: string };

/** Small pages, so that readers need more than one. */
const PER_PAGE = 5;

export class Queues {
  readonly all: Queue[] = [];

  readonly routes: Routes = {
    "GET /queues": ({ query }) => {
      const names = query.getAll("name");
      const isWanted = ({ queue_name }: Queue) => names.length === 0 || names.includes(queue_name);
      const found = this.all.filter(isWanted);
      return new Paged(found.map(shown), query, PER_PAGE);
    },
    "POST /queues": (call) => this.#create(call),
    "GET /queues/:id/consumers": (_, [id]) => this.#find(id).consumers,
    "POST /queues/:id/consumers": (call, [id]) => this.#consume(this.#find(id), call),
    "PUT /queues/:id/consumers/:consumer_id": (call, [id]) => this.#consume(this.#find(id), call),
  };

  #find(id: string | undefined): Queue {
    const found = this.all.find(({ queue_id }) => queue_id === id);
    if (found) return found;
    throw new ApiFailure(404, 11000, "Queue does not exist.");
  }

  #create(call: Call) {
    const { queue_name, settings = {}, jurisdiction = null } = json<NewQueue>(call);
    if (this.all.some((queue) => queue.queue_name === queue_name)) {
      throw new ApiFailure(409, 11009, `Queue name '${queue_name}' is already taken.`);
    }
    const made = { queue_id: randomUUID(), queue_name, jurisdiction, settings, consumers: [] };
    this.all.push(made);
    return shown(made);
  }

  #consume(queue: Queue, call: Call): Consumer {
    const { type, script_name, ...rest } = json<NewConsumer>(call);
    const consumer = { ...rest, type, script: script_name, consumer_id: randomUUID() };
    queue.consumers = [consumer];
    return consumer;
  }
}

function shown(queue: Queue) {
  return {
    ...queue,
    consumers_total_count: queue.consumers.length,
    producers: [],
    producers_total_count: 0,
  };
}
