import { type ReactNode, useMemo, useState } from "react";
import { Conversation } from "../../../ui/conversation/conversation.tsx";
import { findMessages, toConversation } from "../../../ui/conversation/model.ts";
import { formatCount } from "../../../ui/formats.ts";
import { JsonView } from "../../../ui/json-view/json-view.tsx";

type Props = { label: string; value: unknown; none: ReactNode };

const MESSAGES_SHOWN = 50;

/** Shows a payload: as a conversation when it has messages, else as JSON. */
export function Payload({ label, value, none }: Props) {
  const messages = useMemo(() => findMessages(value), [value]);
  const [isJson, setJson] = useState(false);
  if (isEmpty(value)) {
    return (
      <div className="row">
        <h3>{label}</h3>
        <span className="dim sm">{none}</span>
      </div>
    );
  }
  if (messages === null) return <JsonView label={label} value={value} />;
  const choice = (
    <button type="button" className="btn sm" aria-pressed={isJson} onClick={() => setJson(!isJson)}>
      JSON
    </button>
  );
  if (isJson) {
    return (
      <JsonView label={label} value={value}>
        {choice}
      </JsonView>
    );
  }
  return (
    <div>
      <div className="row">
        <h3>{label}</h3>
        <span className="dim sm">{formatCount(messages.length, "message")}</span>
        <span className="push">{choice}</span>
      </div>
      <Conversation messages={toConversation(messages)} atFirst={MESSAGES_SHOWN} />
    </div>
  );
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
