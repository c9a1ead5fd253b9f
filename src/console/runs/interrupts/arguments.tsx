import { Fragment } from "react";
import { isFields, toJson } from "../../ui/conversation/fields.ts";
import { LongText } from "../../ui/conversation/long-text.tsx";

const MAX_SHOWN = 2000;

/** The arguments of an action by name; any other value as JSON. */
export function Arguments({ args }: { args: unknown }) {
  if (!isFields(args)) {
    return (
      <pre className="pre args">
        <LongText text={toJson(args, 2)} max={MAX_SHOWN} />
      </pre>
    );
  }
  const entries = Object.entries(args);
  if (entries.length === 0) return <p className="dim sm">No arguments.</p>;
  return (
    <dl className="kv args">
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt className="break-words min-w-0">{name}</dt>
          <dd className="mono">
            <LongText text={toJson(value)} max={MAX_SHOWN} />
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}
