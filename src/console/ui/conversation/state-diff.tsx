import { formatCount } from "../formats.ts";
import { type Change, diffOf } from "./diff.ts";
import { isFields, toJson } from "./fields.ts";
import { LongText } from "./long-text.tsx";
import { toConversation } from "./model.ts";

const MAX_SHOWN = 400;

/** Shows the changes between two states: the removed and the added value of each path. */
export function StateDiff({ before, after }: { before: unknown; after: unknown }) {
  const { changes, hasMore } = diffOf(before ?? {}, after ?? {});
  if (changes.length === 0) return <p className="dim sm">Changed nothing.</p>;
  return (
    <>
      {changes.map((change) => (
        <ChangeLines key={change.path} change={change} />
      ))}
      {hasMore && (
        <p className="dim sm">
          The first {formatCount(changes.length, "change")} only. Compare the rest in the state.
        </p>
      )}
    </>
  );
}

function ChangeLines({ change: { path, before, after } }: { change: Change }) {
  return (
    <div className="mb-2">
      <code className="x-key break-all">{path || "state"}</code>
      <div className="diff">
        {before !== undefined && (
          <div className="del" data-s="-">
            <span className="sr">removed </span>
            <LongText text={shownAs(before)} max={MAX_SHOWN} />
          </div>
        )}
        {after !== undefined && (
          <div className="add" data-s="+">
            <span className="sr">added </span>
            <LongText text={shownAs(after)} max={MAX_SHOWN} />
          </div>
        )}
      </div>
    </div>
  );
}

/** Returns a message as its text and its calls, without its other fields. Returns any other value as JSON. */
function shownAs(value: unknown): string {
  const [message] = isMessage(value) ? toConversation([value]) : [];
  if (message === undefined) return toJson(value, 2);
  const calls = message.calls.map(({ name, args }) => `${name} ${toJson(args)}`);
  return [`${message.role}: ${message.text}`, ...calls].join("\n");
}

function isMessage(value: unknown): boolean {
  return isFields(value) && typeof value.type === "string" && "content" in value;
}
