import { type Fields, isFields, toJson } from "../../ui/conversation/fields.ts";
import { cutText } from "../../ui/formats.ts";

const MAX_TITLE = 200;
const MAX_TAG = 200;
/** Keys of metadata that are not shown: the service writes them for every thread or run. */
const INTERNAL = new Set(["graph_id", "assistant_id", "created_by"]);

/** Values that `extract` of a search returns for a title. */
export const EXTRACTED = {
  first: "values.messages[0].content",
  id: "values.id",
  title: "values.title",
};

type TitledThread = {
  thread_id?: string | undefined;
  extracted?: Fields | undefined;
  metadata?: Fields | undefined;
};

/** Returns the first message, else `title` or `id` of the state, else the id of the thread. */
export function titleOf({ thread_id = "", extracted }: TitledThread): string {
  const { first, title, id } = extracted ?? {};
  const texts = [textOf(first), textOf(title), textOf(id), thread_id];
  return cutText(texts.find((text) => text !== "") ?? thread_id, MAX_TITLE);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value.trim();
  if (typeof value === "number") return String(value);
  const block: unknown = Array.isArray(value)
    ? value.find((each) => isFields(each) && each.text)
    : null;
  return isFields(block) ? textOf(block.text) : "";
}

/** Returns the metadata as short texts, without the keys in `INTERNAL`. */
export function tagsOf({ metadata = {} }: TitledThread): string[] {
  return Object.entries(metadata)
    .filter(([name]) => !INTERNAL.has(name))
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : toJson(value);
      return cutText(`${name}: ${text}`, MAX_TAG);
    });
}
