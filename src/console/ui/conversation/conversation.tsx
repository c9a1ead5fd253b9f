import { useState } from "react";
import { CopyButton } from "../copy-button.tsx";
import { cutText, formatCount } from "../formats.ts";
import { Icon, type IconName } from "../icon.tsx";
import { StatusIcon } from "../status.tsx";
import { toJson } from "./fields.ts";
import { LongText } from "./long-text.tsx";
import { MarkdownText } from "./markdown-text.tsx";
import type { ChatMessage, ToolCall } from "./model.ts";

type Props = {
  messages: ChatMessage[];
  /** Name of the agent above its messages. */
  agent?: string;
  /** The last message is being written. */
  isWriting?: boolean;
  /** Number of messages that a chosen checkpoint has; later ones are faded. */
  until?: number;
  /** Number of messages that are shown at first, the newest. */
  atFirst?: number;
};

const FIRST_SHOWN = 200;

/** Messages as a conversation, tools beside the message that called them. */
export function Conversation({ messages, agent = "agent", isWriting = false, ...rest }: Props) {
  const { until, atFirst = FIRST_SHOWN } = rest;
  const [shown, setShown] = useState(atFirst);
  const hidden = Math.max(0, messages.length - shown);
  return (
    <>
      {hidden > 0 && (
        <button type="button" className="btn sm" onClick={() => setShown(shown + FIRST_SHOWN)}>
          Show earlier messages: {formatCount(hidden, "message")} not shown
        </button>
      )}
      {messages.slice(hidden).map((message, index) => (
        <Message
          key={message.key}
          message={message}
          agent={agent}
          isLater={until !== undefined && hidden + index >= until}
          isWriting={isWriting && hidden + index === messages.length - 1}
        />
      ))}
    </>
  );
}

const ICONS: Record<ChatMessage["role"], IconName> = {
  user: "user",
  agent: "bot",
  system: "gear",
  tool: "wrench",
};

type MessageProps = { message: ChatMessage; agent: string; isLater: boolean; isWriting: boolean };

function Message({ message, agent, isLater, isWriting }: MessageProps) {
  const { role, name, text, calls, parts } = message;
  const author = { user: "user", agent, system: "system", tool: "tool" }[role];
  return (
    <div
      className={`msg ${role === "user" ? "user" : ""} ${isLater ? "later" : ""}`}
      inert={isLater}
    >
      <span className="av">
        <Icon name={ICONS[role]} />
      </span>
      <div className="min-w-0">
        <div className="hd">
          <b className="cut">{name ?? author}</b>
          {isLater && <span>after this checkpoint</span>}
          {!isWriting && text !== "" && <CopyButton text={text} label="Copy the message" />}
        </div>
        {calls.map((call) => (
          <Call key={call.id} call={call} />
        ))}
        {parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name, and keep their order
          <span key={index} className="tag mono">
            {part}
          </span>
        ))}
        {text !== "" && (
          <div className="tx">
            <LongText text={text} draw={drawMarkdown} />
            {isWriting && <span className="caret" aria-hidden="true" />}
          </div>
        )}
      </div>
    </div>
  );
}

function drawMarkdown(text: string) {
  return <MarkdownText text={text} />;
}

const ARGS_SHOWN = 200;

function Call({ call: { name, args, result, isFailed } }: { call: ToolCall }) {
  const kind = result === null ? "queued" : isFailed ? "failed" : "ok";
  const word = { queued: "no result yet", failed: "failed", ok: "ok" }[kind];
  return (
    <details className="call">
      <summary>
        <Icon name="wrench" small className="k-tool" />
        <b className="mono m cut">{name}</b>
        <span className="dim cut grow">{cutText(toJson(args), ARGS_SHOWN)}</span>
        <span className={{ queued: "dim", failed: "err", ok: "ok" }[kind]} title={word}>
          <StatusIcon kind={kind} />
          <span className="sr">{word}</span>
        </span>
      </summary>
      <pre className="pre">
        <LongText text={toJson(args, 2)} />
      </pre>
      {result !== null && (
        <pre className="pre border-t border-line">
          <LongText text={result} />
        </pre>
      )}
    </details>
  );
}
