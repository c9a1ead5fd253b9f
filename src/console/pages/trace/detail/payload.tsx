import { type ReactNode, useMemo, useState } from "react";
import { formatCount, formatNumber } from "../../../ui/formats.ts";
import { Icon, type IconName } from "../../../ui/icon.tsx";
import { JsonView } from "../../../ui/json-view/json-view.tsx";
import { showText } from "../../../ui/json-view/tree.ts";
import { findMessages, type PayloadMessage } from "../model/messages.ts";

type Props = { label: string; value: unknown; none: ReactNode };

/** A payload as a conversation where it has messages, else as JSON. */
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
      <Messages messages={messages} />
    </div>
  );
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

const LAST_SHOWN = 50;

function Messages({ messages }: { messages: PayloadMessage[] }) {
  const [isAll, setAll] = useState(false);
  const hidden = isAll ? 0 : Math.max(messages.length - LAST_SHOWN, 0);
  return (
    <>
      {hidden > 0 && (
        <button type="button" className="btn sm" onClick={() => setAll(true)}>
          Show {formatCount(hidden, "earlier message")}
        </button>
      )}
      {messages.slice(hidden).map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages keep their order
        <Message key={hidden + index} message={message} />
      ))}
    </>
  );
}

const ICONS: Record<string, IconName> = { user: "user", agent: "bot", system: "gear" };
const MAX_CHARS = 3000;

function Message({ message: { role, text, calls } }: { message: PayloadMessage }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > MAX_CHARS && !isWhole;
  return (
    <div className={`msg ${role === "user" ? "user" : ""}`}>
      <span className="av">
        <Icon name={ICONS[role] ?? "wrench"} />
      </span>
      <div className="min-w-0">
        <div className="hd">
          <b>{role}</b>
        </div>
        <bdi className="block whitespace-pre-wrap break-words">
          {showText(isCut ? text.slice(0, MAX_CHARS) : text)}
        </bdi>
        {isCut && (
          <button type="button" className="btn sm" onClick={() => setWhole(true)}>
            Show all {formatNumber(text.length)} characters
          </button>
        )}
        {calls.map(({ name, args }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: calls keep their order
          <JsonView key={index} label={`Call ${showText(name)}`} value={args} maxHeight={160} />
        ))}
      </div>
    </div>
  );
}
