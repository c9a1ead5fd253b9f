import type { RunCall } from "../contract.ts";
import type { TraceOp, TracePayload } from "../trace-contract.ts";
import { type HiddenFields, withoutHidden } from "./hidden-fields.ts";
import { isFields } from "./sanitize-fields.ts";
import { TextDeduplicator } from "./text-deduplicator.ts";
import { TraceJson } from "./trace-json.ts";

type Fields = Record<string, unknown>;

/** Trace run, or its changes, that no batch has sent. */
export type UnsentRun = { kind: TraceOp["kind"]; run: Fields };

/** Minimum length of a payload that is sent as a separate text, outside of `data`. */
const APART_CHARACTERS = 16 * 1024;

/**
 * Encodes trace runs of one run as JSON, with the project and metadata of the run. The root also gets the graph's name.
 */
export class TraceEncoder {
  readonly #call: RunCall;
  readonly #hidden: HiddenFields;
  readonly #json = new TraceJson();
  readonly #texts = new TextDeduplicator();

  constructor(call: RunCall, hidden: HiddenFields) {
    this.#call = call;
    this.#hidden = hidden;
  }

  encode(id: string, { kind, run: whole }: UnsentRun): Pick<TraceOp, "data" | "texts"> {
    const run = withoutHidden(whole, this.#hidden);
    const { trace, config, graph_id, run_id, resuming } = this.#call;
    const { langsmith_project, langsmith_example_id } = config.configurable ?? {};
    const isRoot = id === run_id;
    const texts: TraceOp["texts"] = {};
    const fields = Object.entries({
      ...run,
      ...this.#lineage(run),
      ...(isRoot && { name: graph_id, start_time: trace.start_time }),
      ...(isRoot && resuming && { inputs: undefined }),
      ...(isRoot &&
        langsmith_example_id !== undefined && { reference_example_id: langsmith_example_id }),
      ...(langsmith_project !== undefined && { session_name: langsmith_project }),
      ...((kind === "post" || run.extra !== undefined) && {
        extra: this.#extraOf(run.extra, isRoot),
      }),
    }).flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      const pieces = this.#json.cut(value);
      const isApart = isPayload(name) && pieces.length >= APART_CHARACTERS;
      if (isApart) texts[name] = this.#texts.encode(pieces);
      return isApart ? [] : [`${JSON.stringify(name)}:${pieces.texts.join("")}`];
    });
    return { data: `{${fields.join()}}`, ...(Object.keys(texts).length > 0 && { texts }) };
  }

  /**
   * Replaces the first part of a dotted order, the root's, by that of the first attempt: all attempts share one root.
   */
  dottedOrderOf({ dotted_order }: Fields): string {
    const [, ...below] = String(dotted_order).split(".");
    return [this.#call.trace.dotted_order, ...below].join(".");
  }

  /** Forgets the texts so far: later ones do not refer to them. */
  endTexts() {
    this.#texts.endBatch();
  }

  /** Ends a batch: values may change afterwards. */
  endBatch() {
    this.#json.endBatch();
    this.#texts.endBatch();
  }

  #lineage(run: Fields): Fields {
    return typeof run.dotted_order === "string" ? { dotted_order: this.dottedOrderOf(run) } : {};
  }

  #extraOf(extra: unknown, isRoot: boolean): Fields {
    const own = isFields(extra) ? extra : {};
    const metadata = isFields(own.metadata) ? own.metadata : {};
    const { metadata: ids, root_metadata } = this.#call.trace;
    return { ...own, metadata: { ...metadata, ...ids, ...(isRoot && root_metadata) } };
  }
}

function isPayload(name: string): name is TracePayload {
  return name === "inputs" || name === "outputs";
}
