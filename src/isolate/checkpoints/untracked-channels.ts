import { toWire } from "../wire.ts";
import { type GraphNodes, subgraphsOf } from "./subgraphs.ts";

/** LangGraph's name of channels whose values are in no checkpoint. */
const UNTRACKED = "UntrackedValue";
/** Depth of channels in the events of a graph, such as the results of tasks in a checkpoint of the mode `debug`. */
const DEPTH = 6;

type Fields = Record<string, unknown>;
type Names = ReadonlySet<string>;
/** A graph of LangGraph. A remote one has no channels. */
type GraphChannels = GraphNodes & { channels?: object };

/** Channels of a graph whose values are in no checkpoint, such as a connection, and may not be JSON. */
export class UntrackedChannels {
  readonly #graph: GraphChannels;
  readonly #names: Names;

  constructor(graph: GraphChannels) {
    this.#graph = graph;
    this.#names = namesOf(graph);
  }

  /** Returns the values without untracked channels: the same object when it has none of them. */
  omitFrom(values: unknown): unknown {
    if (!isPlain(values) || !Object.keys(values).some((name) => this.#names.has(name)))
      return values;
    return Object.fromEntries(Object.entries(values).filter(([name]) => !this.#names.has(name)));
  }

  /** Writes a chunk or a state as JSON, without untracked values that JSON cannot hold. */
  toWire = (value: unknown): string => {
    try {
      return toWire(value);
    } catch (error) {
      const subgraphs = [...subgraphsOf(this.#graph)];
      const names = new Set(subgraphs.flatMap(([, graph]) => [...namesOf(graph)]));
      for (const name of this.#names) names.add(name);
      if (names.size === 0) throw error;
      return toWire(withoutUnserializable(value, names, DEPTH));
    }
  };
}

function namesOf({ channels = {} }: GraphChannels): Names {
  const untracked = Object.entries(channels as Fields).filter(
    ([, channel]) => Reflect.get(Object(channel), "lc_graph_name") === UNTRACKED,
  );
  return new Set(untracked.map(([name]) => name));
}

function withoutUnserializable(value: unknown, names: Names, depth: number): unknown {
  if (depth === 0) return value;
  if (Array.isArray(value))
    return value.map((item) => withoutUnserializable(item, names, depth - 1));
  if (!isPlain(value)) return value;
  const fields = Object.entries(value).filter(([name, field]) => !names.has(name) || isJson(field));
  return Object.fromEntries(
    fields.map(([name, field]) => [name, withoutUnserializable(field, names, depth - 1)]),
  );
}

function isJson(value: unknown): boolean {
  try {
    toWire(value);
    return true;
  } catch {
    return false;
  }
}

function isPlain(value: unknown): value is Fields {
  return typeof value === "object" && Object.getPrototypeOf(value ?? []) === Object.prototype;
}
