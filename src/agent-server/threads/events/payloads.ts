import { isRecord } from "../../../shared/guards.ts";

type Fields = Record<string, unknown>;

const INTERRUPT_OR_EMPTY_FIELD = /"__interrupt__"|"(additional_kwargs|response_metadata)":\{\}/;

/**
 * Removes interrupts from values, and empty `additional_kwargs` and `response_metadata` from messages in lists.
 * @returns JSON text, `null` when the values are only interrupts
 */
export function toValues(text: string): string | null {
  if (!INTERRUPT_OR_EMPTY_FIELD.test(text)) return text;
  const values: unknown = JSON.parse(text);
  if (!isRecord(values)) return text;
  const { __interrupt__, ...others } = values;
  const entries = Object.entries(others);
  if (__interrupt__ !== undefined && entries.length === 0) return null;
  return JSON.stringify(
    Object.fromEntries(entries.map(([key, value]) => [key, withoutEmptyFields(value)])),
  );
}

function withoutEmptyFields(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => {
    if (!isRecord(item) || typeof item.type !== "string" || !("content" in item)) return item;
    const { additional_kwargs, response_metadata, ...message } = item;
    return {
      ...message,
      ...(!isEmpty(additional_kwargs) && { additional_kwargs }),
      ...(!isEmpty(response_metadata) && { response_metadata }),
    };
  });
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (isRecord(value) && Object.keys(value).length === 0);
}

export function toUpdates(text: string): { node: string; data: string }[] {
  const updates: unknown = JSON.parse(text);
  if (!isRecord(updates)) return [];
  return Object.entries(updates)
    .filter(([node]) => node !== "__interrupt__")
    .map(([node, update]) => {
      const values = typeof update === "object" && update !== null ? update : { value: update };
      return { node, data: JSON.stringify({ node, values }) };
    });
}

/** Converts the data of a stored event to that of the v2 protocol. Needs no other event of the run. */
export function toIndependent(
  name: "checkpoints" | "custom" | "tools",
  text: string,
  namespace: string[],
): { channel?: string; data: string } {
  if (name === "custom") return toCustom(text);
  return { data: name === "tools" ? toTool(text, namespace) : toCheckpoint(text) };
}

/**
 * Converts objects with a `name` to named custom events. The events keep the fields of the object for the Python SDK.
 * The JavaScript SDK reads `payload`: the object's own, or else the whole object. Other values become the `payload`.
 */
function toCustom(text: string): { channel: string; data: string } {
  if (!text.startsWith("{")) return { channel: "custom", data: `{"payload":${text}}` };
  const written: unknown = JSON.parse(text);
  const isNamed = isRecord(written) && typeof written.name === "string";
  if (!isNamed) return { channel: "custom", data: `{"payload":${text}}` };
  const { name, payload = written } = written;
  return { channel: `custom:${name}`, data: JSON.stringify({ ...written, payload }) };
}

/** Converts LangGraph's tool events to those of the protocol. */
function toTool(text: string, namespace: string[]): string {
  const { event, toolCallId, name, input, output, error, data } = JSON.parse(text) as Fields;
  const tool_name = typeof name === "string" ? name : "unknown";
  const own = typeof toolCallId === "string" ? toolCallId : `${namespace.join("|")}/${tool_name}`;
  return JSON.stringify(toolData(String(event), { tool_name, input, output, error, data }, own));
}

function toolData(event: string, { tool_name, input, output, error, data }: Fields, id: string) {
  switch (event) {
    case "on_tool_start":
      return { event: "tool-started", tool_call_id: id, tool_name, input };
    case "on_tool_end":
      return { event: "tool-finished", tool_call_id: id, output };
    case "on_tool_event": {
      const delta = typeof data === "string" ? data : JSON.stringify(data ?? "");
      return { event: "tool-output-delta", tool_call_id: id, delta };
    }
    case "on_tool_error": {
      const message = isRecord(error) ? error.message : error;
      return { event: "tool-error", tool_call_id: id, message: String(message ?? "unknown error") };
    }
    default:
      throw new Error(`Unknown tool event ${event}`);
  }
}

const INPUT_IS_VALUES = ',"input_is":"values"}';

/**
 * Restores the input of a task that is stored as a reference. `values`: JSON text of the latest values of its graph.
 */
export function toTask(text: string, values: string | undefined): string {
  if (!text.endsWith(INPUT_IS_VALUES)) return text;
  return `${text.slice(0, -INPUT_IS_VALUES.length)},"input":${values ?? "null"}}`;
}

/** Converts the long form of a checkpoint to the short form, which runs of the v2 protocol write. */
function toCheckpoint(text: string): string {
  const payload = JSON.parse(text) as Fields;
  if (typeof payload.id === "string") return text;
  const { checkpoint, parent_checkpoint, metadata } = payload as Record<string, Fields | undefined>;
  const parent_id = parent_checkpoint?.checkpoint_id;
  return JSON.stringify({
    id: checkpoint?.checkpoint_id,
    ...(parent_id !== undefined && { parent_id }),
    step: metadata?.step,
    source: metadata?.source,
  });
}
